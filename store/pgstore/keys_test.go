package pgstore

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/approvals"
	"countersign/store/seal"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	plain, sealed := newURL(t), newURL(t)
	openStore(t, plain, Config{})
	openStore(t, sealed, Config{Keys: testKeys(t, "a")})
	another, err := seal.Parse("a:" + strings.Repeat("b", 42) + "Y=")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what string
		url  string
		keys *seal.Keyring
		want error
	}{
		{"a plain store with keys", plain, testKeys(t, "a"), ErrPlain},
		{"an encrypted store without keys", sealed, nil, ErrKeys},
		{"an encrypted store with other keys", sealed, testKeys(t, "b"), ErrKeys},
		{"an encrypted store with another key of that id", sealed, another, ErrKeys},
		{"an encrypted store with its keys", sealed, testKeys(t, "a"), nil},
		{"a plain store without keys", plain, nil, nil},
	} {
		s, err := Open(t.Context(), c.url, Config{Keys: c.keys})
		if err == nil {
			s.Close()
		}
		if !errors.Is(err, c.want) || err != nil && c.want == nil {
			t.Errorf("%s: %v, want %v", c.what, err, c.want)
		}
	}
}

// TestNewKey has one process begin to use a key while another is open: each reads what the other writes.
func TestNewKey(t *testing.T) {
	t.Parallel()
	url := newURL(t)
	first := openStore(t, url, Config{Keys: testKeys(t, "a", "b")})
	if err := first.Update(t.Context(), writeEffect("1")); err != nil {
		t.Fatal(err)
	}
	second := openStore(t, url, Config{Keys: testKeys(t, "b", "a")})
	if err := second.Update(t.Context(), writeEffect("2")); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"1", "2"} {
		for _, s := range []*Store{first, second} {
			err := s.View(t.Context(), func(tx approvals.Tx) error {
				_, err := tx.Effect("T1", "run_1", id)
				return err
			})
			if err != nil {
				t.Errorf("effect %s: %v", id, err)
			}
		}
	}
	if _, err := Open(t.Context(), url, Config{Keys: testKeys(t, "a")}); !errors.Is(err, ErrKeys) {
		t.Errorf("without the key that was added: %v", err)
	}
}

// TestNewKeyMetByTwo has a transaction meet a new key, and another one take it over before the first has ended.
func TestNewKeyMetByTwo(t *testing.T) {
	t.Parallel()
	url := newURL(t)
	first := openStore(t, url, Config{Keys: testKeys(t, "a", "b")})
	second := openStore(t, url, Config{Keys: testKeys(t, "b", "a")})
	if err := second.Update(t.Context(), writeEffect("1")); err != nil {
		t.Fatal(err)
	}
	read := func(tx approvals.Tx) error {
		_, err := tx.Effect("T1", "run_1", "1")
		return err
	}
	met := 0
	err := first.View(t.Context(), func(tx approvals.Tx) error {
		err := read(tx)
		if met++; met == 1 {
			if err := first.View(t.Context(), read); err != nil {
				t.Errorf("the other one: %v", err)
			}
		}
		return err
	})
	if err != nil || met != 2 {
		t.Errorf("%v, after %d attempts", err, met)
	}
}

// TestSealedValues looks into the tables: nothing that was written can be read there, and no value can be put in
// another's place. Of a plain store the same look finds everything, which is the control.
func TestSealedValues(t *testing.T) {
	t.Parallel()
	for _, keys := range []*seal.Keyring{testKeys(t, "a"), nil} {
		s := openStore(t, newURL(t), Config{Keys: keys})
		writeCanaries(t, s)
		found := 0
		for _, column := range []string{"run_records.record", "request_contents.record", "states.head",
			"state_chunks.items", "sessions.items", "outbox.record", "installations.record"} {
			table, name, _ := strings.Cut(column, ".")
			var data []byte
			if err := s.clicks.QueryRow(t.Context(), "select "+name+" from "+table).Scan(&data); err != nil {
				t.Fatal(column, err)
			}
			if bytes.Contains(data, []byte("canary")) {
				found++
			}
		}
		if want := map[bool]int{true: 0, false: 7}[keys != nil]; found != want {
			t.Errorf("with keys %v: %d of 7 values can be read, want %d", keys, found, want)
		}
	}
}

func writeCanaries(t *testing.T, s *Store) {
	t.Helper()
	const canary = `{"x":"canary"}`
	at := approvals.Place{Surface: "slack", Channel: "C1"}
	err := s.Update(t.Context(), func(tx approvals.Tx) error {
		r := &approvals.Request{RequestHead: approvals.RequestHead{Workspace: "T1", ID: "req_1", Run: "run_1"}}
		r.Arguments = []byte(canary)
		return errors.Join(tx.PutRun(&approvals.Run{Workspace: "T1", ID: "run_1", Input: "canary"}), tx.PutRequest(r),
			tx.PutState("T1", "run_1", agent.Delta{Head: []byte(canary), Items: []byte(canary), Count: 1}),
			tx.AppendSession("T1", at, "k", []byte(canary)),
			tx.PutNotification(&approvals.Notification{Workspace: "T1", ID: "ntf_1", Place: at, Text: "canary"}),
			tx.PutInstallation(&approvals.Installation{Workspace: "T1", Token: "xoxb-canary"}))
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestMovedValue(t *testing.T) {
	t.Parallel()
	s := openStore(t, newURL(t), Config{Keys: testKeys(t, "a")})
	for i := range 2 {
		if err := s.Update(t.Context(), writeEffect(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.clicks.Exec(t.Context(),
		"update effect_records set record = (select record from effect_records where id = '0') where id = '1'")
	if err != nil {
		t.Fatal(err)
	}
	err = s.View(t.Context(), func(tx approvals.Tx) error {
		_, err := tx.Effect("T1", "run_1", "1")
		return err
	})
	if !errors.Is(err, ErrDamaged) {
		t.Errorf("a value in another's place: %v, want ErrDamaged", err)
	}
}

// TestNewerField: a record with a field of a newer version is not read, for writing it back would lose the field.
func TestNewerField(t *testing.T) {
	t.Parallel()
	s := openStore(t, newURL(t), Config{})
	if err := s.Update(t.Context(), writeEffect("1")); err != nil {
		t.Fatal(err)
	}
	_, err := s.clicks.Exec(t.Context(), `update effect_records set record = '{"workspace":"T1","newer":1}'`)
	if err != nil {
		t.Fatal(err)
	}
	err = s.View(t.Context(), func(tx approvals.Tx) error {
		_, err := tx.Effect("T1", "run_1", "1")
		return err
	})
	if !errors.Is(err, ErrNewer) || !strings.Contains(fmt.Sprint(err), "nothing is lost") {
		t.Errorf("%v, want ErrNewer", err)
	}
}
