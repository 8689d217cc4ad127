package boltstore

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/approvals"
	"countersign/store/seal"
)

// keysOf returns a keyring with keys that follow from their ids.
func keysOf(ids ...string) (*seal.Keyring, error) {
	var entries []string
	for _, id := range ids {
		secret := []byte(strings.Repeat(id+"-", seal.KeySize))[:seal.KeySize]
		entries = append(entries, id+":"+base64.StdEncoding.EncodeToString(secret))
	}
	return seal.Parse(strings.Join(entries, ","))
}

func testKeys(t testing.TB, ids ...string) *seal.Keyring {
	t.Helper()
	keys, err := keysOf(ids...)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// canaries are texts that a store must not show, by where they stand.
var canaries = []string{
	"run-input", "run-output", "run-failure", "queued-input", "state-head", "state-items", "arguments", "explanation",
	"facts", "note", "reason", "decided-input", "tool-description", "effect-output", "grant-condition", "grant-reason",
	"session", "outbox", "dead-letter", "dead-why", "audit-data", "unsealed-data",
}

// canary returns a text that nothing else holds. It is long enough for its encodings to be told.
func canary(where string) string { return "<canary of " + where + ": Überweisung an Herrn Müller>" }

// putCanaries puts all of them, in records whose ids end with n.
func putCanaries(tx approvals.Tx, n int) error {
	c := canary
	quoted := func(where string) json.RawMessage {
		data, err := json.Marshal(map[string]string{"text": c(where)})
		if err != nil {
			panic(err)
		}
		return bytes.ReplaceAll(bytes.ReplaceAll(data, []byte(`\u003c`), []byte("<")), []byte(`\u003e`), []byte(">"))
	}
	id := fmt.Sprintf("%06d", n)
	run, req := approvals.RunID("run_"+id), approvals.RequestID("req_"+id)
	place := approvals.Place{Surface: "slack", Channel: "C1", Thread: id}
	r := request(req, run, approvals.RequestApproved)
	r.Arguments, r.Explanation, r.Facts = quoted("arguments"), []string{c("explanation")}, []string{c("facts")}
	r.Note, r.Tool.Description = c("note"), c("tool-description")
	r.Decisions = []approvals.Decision{{Reason: c("reason"), Input: quoted("decided-input")}}
	note := &approvals.Notification{Workspace: "T1", ID: approvals.NotificationID("ntf_" + id), Place: place,
		Text: c("outbox")}
	dead := *note
	dead.ID, dead.Text, dead.Why, dead.Dead = "ntf_d"+note.ID, c("dead-letter"), c("dead-why"), tx.Now()
	entry := approvals.AuditEntry{Workspace: "T1", Seq: uint64(n + 1), Data: quoted("audit-data")}
	open := approvals.AuditEntry{Workspace: "T1", ID: approvals.AuditID("aud_" + id), Data: quoted("unsealed-data")}
	return errors.Join(
		tx.PutRun(&approvals.Run{Workspace: "T1", ID: run, Place: place, Input: c("run-input"), Output: c("run-output"),
			Failure: c("run-failure"), Status: approvals.RunDone}),
		tx.PutInput(&approvals.QueuedInput{Workspace: "T1", Place: place, ID: "inp_1", Text: c("queued-input")}),
		tx.PutState("T1", run, agent.Delta{Head: quoted("state-head"), Count: 1, Items: quoted("state-items")}),
		tx.PutRequest(r),
		tx.PutEffect(&approvals.EffectRecord{Workspace: "T1", Run: run, ID: "eff_1",
			Output: &agent.ToolOutput{Text: c("effect-output")}}),
		tx.PutGrant(&approvals.Grant{Workspace: "T1", ID: approvals.GrantID("grant_" + id),
			RevokedReason: c("grant-reason"),
			Condition:     []approvals.ArgumentBound{{Pointer: "/to", Equal: quoted("grant-condition")}}}),
		tx.AppendSession("T1", place, string(run), quoted("session")),
		tx.PutNotification(note), tx.PutNotification(&dead), tx.AppendAudit(&entry, &open),
	)
}

// forms returns how a text may stand in a file: as it is, in hexadecimal digits, and in base64 at each of the three
// places that it can have in a longer text.
func forms(text string) [][]byte {
	list := [][]byte{[]byte(text), []byte(hex.EncodeToString([]byte(text))),
		[]byte(strings.ToUpper(hex.EncodeToString([]byte(text))))}
	for shift := range 3 {
		for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			encoded := e.EncodeToString([]byte(strings.Repeat("x", shift) + text))
			list = append(list, []byte(encoded[4:len(encoded)-4])) // what does not depend on the neighbours
		}
	}
	return list
}

// shown returns which canaries a file shows, in any form.
func shown(t testing.TB, path string) (found []string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, where := range canaries {
		if slices.ContainsFunc(forms(canary(where)), func(f []byte) bool { return bytes.Contains(data, f) }) {
			found = append(found, where)
		}
	}
	return found
}

// canaryStore makes a store with canaries, half of which are deleted again, so that free pages hold some.
func canaryStore(t testing.TB, ids ...string) string {
	t.Helper()
	path, cfg := newPath(t), Config{}
	if len(ids) > 0 {
		cfg.Keys = testKeys(t, ids...)
	}
	s, err := Open(path, cfg)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 40 {
		mustUpdate(t, s, func(tx approvals.Tx) error { return putCanaries(tx, n) })
	}
	for n := range 20 {
		run := approvals.RunID(fmt.Sprintf("run_%06d", n))
		mustUpdate(t, s, func(tx approvals.Tx) error { return tx.DeleteRun("T1", run) })
	}
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustClose(t, s)
	return path
}

// TestCanaries looks for what people and models wrote in all bytes of a file: when it was written with keys, when it
// was written without and then compacted with keys, and in a backup of it.
func TestCanaries(t *testing.T) {
	t.Parallel()
	plain := canaryStore(t)
	if found := shown(t, plain); !slices.Equal(found, canaries) {
		t.Errorf("control: of %d canaries a plain file shows only %q", len(canaries), found)
	}
	var before string
	{
		s := open(t, plain)
		before = records(t, s)
		mustClose(t, s)
	}
	if _, err := Compact(t.Context(), plain, CompactConfig{}); err != nil {
		t.Fatal(err)
	}
	if found := shown(t, plain); !slices.Equal(found, canaries) {
		t.Errorf("control: of %d canaries a compacted plain file shows only %q", len(canaries), found)
	}
	taken := plain
	if _, err := Compact(t.Context(), taken, CompactConfig{Keys: testKeys(t, "a")}); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"written with keys": canaryStore(t, "a"), "taken over": taken} {
		s := openWith(t, path, "a")
		if name == "taken over" && records(t, s) != before {
			t.Errorf("%s: it holds something else", name)
		}
		if err := s.Check(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		backup := newPath(t)
		writeBackup(t, s, backup)
		all := records(t, s)
		mustClose(t, s)
		for _, p := range []string{path, backup} {
			if found := shown(t, p); len(found) > 0 {
				t.Errorf("%s: %s shows %q", name, filepath.Base(p), found)
			}
		}
		if _, err := Open(backup, Config{}); !errors.Is(err, ErrKeys) {
			t.Errorf("%s: the backup opened without keys: %v", name, err)
		}
		if s := openWith(t, backup, "a"); records(t, s) != all || s.Check(t.Context()) != nil {
			t.Errorf("%s: the backup holds something else", name)
		}
	}
}

func writeBackup(t testing.TB, s *Store, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Backup(t.Context(), f)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// childContext and childKeys are what the programs of TestMain work with.
func childContext() context.Context { return context.Background() }

func childKeys() *seal.Keyring {
	keys, err := keysOf("a")
	if err != nil {
		panic(err)
	}
	return keys
}

func firstLine(r io.Reader) string {
	line, _ := bufio.NewReader(r).ReadString('\n')
	return strings.TrimSpace(line)
}

// commitCanaries puts canaries with keys until it is killed, and prints a line for each commit.
func commitCanaries(args []string) error {
	s, err := Open(args[0], Config{Keys: childKeys()})
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		if err := s.Update(childContext(), func(tx approvals.Tx) error { return putCanaries(tx, n) }); err != nil {
			return err
		}
		fmt.Println(n)
	}
}

// TestCanariesAfterAKill kills a process that writes canaries: nothing of them is in the file, before and after it is
// opened again, and what was committed is there.
func TestCanariesAfterAKill(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	cmd, out := startChild(t, "canary", path)
	lines, last := bufio.NewScanner(out), ""
	for n := 0; n < 60 && lines.Scan(); n++ {
		last = lines.Text()
	}
	cmd.Process.Kill()
	cmd.Wait()
	if found := shown(t, path); len(found) > 0 || last != "59" {
		t.Errorf("killed after %q: the file shows %q", last, found)
	}
	s := openWith(t, path, "a")
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if !strings.Contains(records(t, s), "run_000059") {
		t.Error("what was committed is gone")
	}
	mustUpdate(t, s, func(tx approvals.Tx) error { return tx.DeleteRun("T1", "run_000001") })
	mustClose(t, s)
	if found := shown(t, path); len(found) > 0 {
		t.Errorf("opened again, the file shows %q", found)
	}
}

// TestKeysOfAFile opens a file with all kinds of keys.
func TestKeysOfAFile(t *testing.T) {
	t.Parallel()
	plain, one := canaryStore(t), canaryStore(t, "a")
	two := canaryStore(t, "a")
	mustClose(t, openWith(t, two, "b", "a")) // from now on b encrypts
	other, err := seal.Parse("a:" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("z"), seal.KeySize)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, path string
		keys       *seal.Keyring
		want       error
		says       string
	}{
		{"its key", one, testKeys(t, "a"), nil, ""},
		{"its key among others", one, testKeys(t, "a", "b", "c"), nil, ""},
		{"both keys", two, testKeys(t, "b", "a"), nil, ""},
		{"both keys, the old one first", two, testKeys(t, "a", "b"), nil, ""},
		{"plain without keys", plain, nil, nil, ""},
		{"no keys", one, nil, ErrKeys, "no key with the id a "},
		{"another key", one, testKeys(t, "b"), ErrKeys, "no key with the id a "},
		{"another key of that id", one, other, ErrKeys, "the key given as a is another one"},
		{"the old key alone", two, testKeys(t, "a"), ErrKeys, "no key with the id b "},
		{"the new key alone", two, testKeys(t, "b"), ErrKeys, "no key with the id a "},
		{"no keys for two", two, nil, ErrKeys, "no key with the id a, b "},
		{"plain with keys", plain, testKeys(t, "a"), ErrPlain, `run "countersign compact" once`},
	} {
		for _, readOnly := range []bool{true, false} {
			before := regular(c.path)
			s, err := Open(c.path, Config{Keys: c.keys, ReadOnly: readOnly})
			if err == nil {
				err = errors.Join(s.Check(t.Context()), s.Close())
			}
			if !errors.Is(err, c.want) || c.want != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s (read-only: %v): got %v, want %v that says %q", c.name, readOnly, err, c.want, c.says)
			}
			if !bytes.Equal(before, regular(c.path)) && (readOnly || c.want != nil) {
				t.Errorf("%s (read-only: %v): the file was changed", c.name, readOnly)
			}
			if c.want == ErrKeys {
				if missing, ok := errors.AsType[*KeyError](err); !ok || missing.Path != c.path {
					t.Errorf("%s: got %#v", c.name, err)
				}
			}
		}
	}
}

// TestRotation replaces a key: what the old one encrypted stays readable until it is compacted, and then needs the new
// one alone.
func TestRotation(t *testing.T) {
	t.Parallel()
	path := canaryStore(t, "a")
	s := openWith(t, path, "b", "a")
	mustUpdate(t, s, func(tx approvals.Tx) error { return putCanaries(tx, 40) })
	want := records(t, s)
	if got := numbers(t, s); got[0] == 0 || got[1] == 0 {
		t.Errorf("control: values by key: %v", got)
	}
	mustClose(t, s)
	if _, err := Compact(t.Context(), path, CompactConfig{Keys: testKeys(t, "b")}); !errors.Is(err, ErrKeys) {
		t.Errorf("compacted without the old key: %v", err)
	}
	before, stop := regular(path), errors.New("stop")
	cfg := CompactConfig{Keys: testKeys(t, "c", "b", "a"), step: func(string) error { return stop }}
	if _, err := Compact(t.Context(), path, cfg); !errors.Is(err, stop) || !bytes.Equal(before, regular(path)) {
		t.Errorf("stopped before it began, it has changed the file: %v", err)
	}
	done, err := Compact(t.Context(), path, CompactConfig{Keys: testKeys(t, "b", "a")})
	if err != nil || done.WasPlain {
		t.Fatal(done, err)
	}
	s = openWith(t, path, "b")
	if records(t, s) != want {
		t.Error("the compacted store holds something else")
	}
	if got := numbers(t, s); len(got) != 1 {
		t.Errorf("values by key after compacting: %v", got)
	}
	mustClose(t, s)
	if _, err := Open(path, Config{Keys: testKeys(t, "a")}); !errors.Is(err, ErrKeys) {
		t.Errorf("opened with the old key: %v", err)
	}
}

// numbers counts the encrypted values by the number of their key.
func numbers(t *testing.T, s *Store) map[byte]int {
	t.Helper()
	count := make(map[byte]int)
	err := s.view(t.Context(), func(t *tx) (err error) {
		defer t.end(t.begin(), &err)
		for _, b := range buckets {
			if !b.sealed || !t.encrypts(b.name) {
				continue
			}
			err := t.scan(b.name, nil, nil, func(_, v []byte) (bool, error) {
				count[v[0]]++
				return true, nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return count
}

// TestMovedValue puts a value that was really encrypted with the file's key to where it does not belong.
func TestMovedValue(t *testing.T) {
	t.Parallel()
	path := canaryStore(t, "a")
	first, second := key("T1", "run_000030"), key("T1", "run_000031")
	value := func(s *Store, bucket, k []byte) (v []byte) {
		err := s.view(t.Context(), func(tx *tx) error {
			v = bytes.Clone(tx.value(bucket, k))
			return nil
		})
		if err != nil || v == nil {
			t.Fatal(v, err)
		}
		return v
	}
	s := openWith(t, path, "a")
	own := value(s, bucketRuns, second)
	another := openWith(t, canaryStore(t, "a"), "a")
	changed := bytes.Clone(own)
	changed[0] = 7
	for name, foreign := range map[string][]byte{
		"another key's":      value(s, bucketRuns, first),
		"another bucket's":   value(s, bucketStates, second),
		"another file's":     value(another, bucketRuns, second),
		"under no key":       changed,
		"too short":          own[:cipherOverhead-1],
		"a plain one":        withChecksum(second, []byte("x")),
		"a plain, long one":  withChecksum(second, make([]byte, 100)),
		"with a bit flipped": append(bytes.Clone(own[:len(own)-1]), own[len(own)-1]^1),
	} {
		if err := putValue(s, bucketRuns, second, foreign); err != nil {
			t.Fatal(err)
		}
		var err error
		verr := s.View(t.Context(), func(tx approvals.Tx) error {
			_, err = tx.Run("T1", "run_000031")
			return nil
		})
		if verr != nil || !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), `runs "T1`) {
			t.Errorf("%s value was read: %v, %v", name, err, verr)
		}
		if err := s.Check(t.Context()); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "run_000031") {
			t.Errorf("%s value: Check says %v", name, err)
		}
	}
	if err := putValue(s, bucketRuns, second, own); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("control: %v", err)
	}
	mustClose(t, s)
}

func putValue(s *Store, bucket, k, v []byte) error {
	return s.change(func(tx *tx) error { return tx.btx.Bucket(bucket).Put(k, v) })
}

// TestPlainRecordsAreNotTaken has somebody without the keys turn an encrypted file into a plain one: with keys given it
// does not open.
func TestPlainRecordsAreNotTaken(t *testing.T) {
	t.Parallel()
	path := canaryStore(t, "a")
	s := openWith(t, path, "a")
	err := s.change(func(tx *tx) error {
		return errors.Join(tx.putFormat(format), tx.drop(bucketMeta, encryptionKey))
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, Config{Keys: testKeys(t, "a")}); !errors.Is(err, ErrPlain) {
		t.Errorf("got %v", err)
	}
}

// TestLostFileKeys checks what a damaged list of keys is called.
func TestLostFileKeys(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*tx) error{
		"missing": func(tx *tx) error { return tx.drop(bucketMeta, encryptionKey) },
		"empty":   func(tx *tx) error { return tx.putFileKeys(&fileKeys{}) },
	} {
		path := canaryStore(t, "a")
		s := openWith(t, path, "a")
		if err := errors.Join(s.change(change), s.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path, Config{Keys: testKeys(t, "a")}); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestManyKeys gives a file as many keys as it can tell apart.
func TestManyKeys(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	ids := []string{}
	for n := range maxFileKeys + 1 {
		ids = slices.Insert(ids, 0, fmt.Sprint("key-", n))
	}
	for n := range maxFileKeys {
		mustClose(t, openWith(t, path, ids[maxFileKeys-n:]...))
	}
	_, err := Open(path, Config{Keys: testKeys(t, ids...)})
	if err == nil || !strings.Contains(err.Error(), "compact") {
		t.Errorf("got %v", err)
	}
	s := openWith(t, path, ids[1:]...)
	mustUpdate(t, s, put(1))
	mustClose(t, s)
	if _, err := Compact(t.Context(), path, CompactConfig{Keys: testKeys(t, ids...)}); err != nil {
		t.Fatal(err)
	}
	if s := openWith(t, path, ids[0]); !has(t, s, 1) {
		t.Error("a record is gone")
	}
}

// TestOlderProgram checks what a version of the program that knows no encryption finds: the number of a newer format.
func TestOlderProgram(t *testing.T) {
	t.Parallel()
	s := openWith(t, newPath(t), "a")
	err := s.view(t.Context(), func(tx *tx) error {
		text, err := cutChecksum(formatKey, tx.value(bucketMeta, formatKey))
		if string(text) != "4" {
			t.Errorf("format %q", text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestFrozenValue reads a value that another implementation has made as doc.go describes it: what an encrypted file
// holds must open for ever.
func TestFrozenValue(t *testing.T) {
	t.Parallel()
	c, err := testKeys(t, "a").Cipher("a", bytes.Repeat([]byte{7}, seal.SaltSize))
	if err != nil {
		t.Fatal(err)
	}
	v, err := base64.StdEncoding.DecodeString("AAABAgMEBQYHCAkKCyPBdlhP6NHOy90yL5ln+f3zniZn")
	if err != nil {
		t.Fatal(err)
	}
	view := &tx{crypt: &encryption{ciphers: []*seal.Cipher{c}}}
	if got, err := view.payload(bucketRuns, key("T1", "run_1"), v); string(got) != "kept" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
}

// entries are the records that are encrypted. Indexes and the sequences of buckets, which are numbers of bbolt's, have
// neither a checksum nor a key.
func entries(t testing.TB, s *Store) (kept []string) {
	sealed := make(map[string]bool)
	for _, b := range buckets {
		sealed[string(b.name)] = b.sealed
	}
	for line := range strings.Lines(records(t, s)) {
		if name, _, record := strings.Cut(line, ` "`); record && sealed[name] {
			kept = append(kept, line)
		}
	}
	if len(kept) == 0 {
		t.Fatal("no record was found")
	}
	return kept
}

// TestEncryptedDamage turns bits of an encrypted file over: each time it is refused, or is seen to be damaged, or holds
// what it held.
func TestEncryptedDamage(t *testing.T) {
	t.Parallel()
	path := canaryStore(t, "a")
	s := openWith(t, path, "a")
	want := entries(t, s)
	mustClose(t, s)
	data, found := regular(path), 0
	for range 100 {
		how := fmt.Sprint("flip-", rand.IntN(len(data)*8))
		scratch := newPath(t)
		if err := os.WriteFile(scratch, damageFile(data, how), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(scratch, Config{Keys: testKeys(t, "a")})
		if err != nil {
			found++
			continue
		}
		if s.Check(t.Context()) != nil {
			found++
		} else if diff := cmp.Diff(want, entries(t, s)); diff != "" {
			t.Errorf("%s was not seen (-want +have):\n%s", how, diff)
		}
		s.Close()
	}
	if found == 0 {
		t.Error("control: no damage was ever seen")
	}
}
