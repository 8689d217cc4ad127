package app_test

import (
	"encoding/base64"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"countersign/internal/openaidev"
)

// What people, the model and a tool wrote in these tests, beside the output of a call.
const (
	canaryThread = "walrus-in-the-thread"
	canaryArgs   = "walrus-in-the-arguments"
	canaryReason = "walrus-in-the-reason"
	canaryOutput = `"reference"`
)

// keyA and keyB are keys of the store, with the ids a and b.
var (
	keyA = base64.StdEncoding.EncodeToString([]byte(strings.Repeat("a", 32)))
	keyB = base64.StdEncoding.EncodeToString([]byte(strings.Repeat("b", 32)))
)

func keysVariable(value string) string { return "COUNTERSIGN_ENCRYPTION_KEYS=" + value }

// newWalrus is a world whose model pays what the thread says, to a canary.
func newWalrus(t *testing.T, env ...string) *world {
	return newWorld(t, walrus(env...))
}

func walrus(env ...string) settings {
	return settings{env: env, rules: []openaidev.Rule{
		{User: `send (\d+)`, Round: 0, Reply: openaidev.Reply{Calls: []openaidev.Call{
			{Name: "pay", Arguments: `{"amount":$1,"to":"` + canaryArgs + `"}`}}}},
	}}
}

// decideOne has one call asked about, decided with a reason and carried out.
func (w *world) decideOne() {
	w.t.Helper()
	thread := w.mention("send 5 " + canaryThread)
	card := w.card(thread, 1)
	w.must("approvals", "decide", w.pending(), "--approve", "--reason", canaryReason, "--as", ben)
	w.settled(card, "Approved")
	w.answer(thread, "R-")
}

// shownIn returns which of the canaries a file shows, as they are, in hexadecimal digits or in base64.
func (w *world) shownIn(name string) (found []string) {
	w.t.Helper()
	return shownBy(w.read(name))
}

// shownBy is shownIn for what a file or a database holds.
func shownBy(data string) (found []string) {
	for _, c := range []string{canaryThread, canaryArgs, canaryReason, canaryOutput} {
		shown := strings.Contains(data, c) || strings.Contains(data, strings.Trim(quote(c), `"`)) ||
			strings.Contains(data, hex.EncodeToString([]byte(c)))
		for shift := range 3 {
			encoded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + c))
			shown = shown || strings.Contains(data, encoded[4:len(encoded)-4])
		}
		if shown {
			found = append(found, c)
		}
	}
	return found
}

// with runs a command with another value of a variable.
func (w *world) with(variable string, args ...string) (stdout, stderr string, code int) {
	w.t.Helper()
	w.extra = append(w.extra, variable)
	defer func() { w.extra = w.extra[:len(w.extra)-1] }()
	return w.run(args...)
}

// TestEncryptedStore runs the bot with keys: nothing that was written is in the file, in a backup, or after a kill, and
// without the keys nothing opens.
func TestEncryptedStore(t *testing.T) {
	fileOnly(t, "TestEncryptedDatabase is about a database")
	t.Parallel()
	w := newWalrus(t, keysVariable("a:"+keyA))
	bot := w.start()
	w.decideOne()
	w.must("backup", "beside.db")
	if out, _, code := w.with(keysVariable(""), "approvals", "list", "--status", "approved"); code != 0 ||
		!strings.Contains(out, "pay") {
		t.Errorf("beside the bot, without keys: %d\n%s", code, out)
	}
	if _, complaint, code := w.with(keysVariable(""), "backup", "unverified.db"); code != 2 ||
		!strings.Contains(complaint, "the copy cannot be verified") {
		t.Errorf("backup beside the bot, without keys: %d %s", code, complaint)
	}
	if left, _ := filepath.Glob(filepath.Join(w.dir, "*unverified.db*")); len(left) > 0 {
		t.Errorf("it left %q behind", left)
	}
	waiting := w.mention("send 6 " + canaryThread)
	w.card(waiting, 1)
	bot.kill()
	w.must("backup", "stopped.db")
	for _, name := range []string{"countersign.db", "beside.db", "stopped.db"} {
		if found := w.shownIn(name); len(found) > 0 {
			t.Errorf("%s shows %q", name, found)
		}
	}
	for _, c := range []struct {
		name, keys, want string
		args             []string
	}{
		{"no keys", "", "no key with the id a is given", []string{"approvals", "list"}},
		{"another key", "b:" + keyB, "no key with the id a is given", []string{"approvals", "list"}},
		{"another key of that id", "a:" + keyB, "the key given as a is another one", []string{"audit", "verify"}},
		{"backup without keys", "", "no key with the id a is given", []string{"backup", "copy.db"}},
		{"compact without keys", "", "no key with the id a is given", []string{"compact"}},
		{"the bot without keys", "", "no key with the id a is given", []string{"run"}},
	} {
		_, complaint, code := w.with(keysVariable(c.keys), c.args...)
		if code != 2 || !strings.Contains(complaint, "COUNTERSIGN_ENCRYPTION_KEYS") ||
			!strings.Contains(complaint, c.want) || strings.Contains(complaint, keyB) {
			t.Errorf("%s: exit code %d, want 2 and %q in:\n%s", c.name, code, c.want, complaint)
		}
	}
	if out := w.must("approvals", "list", "--status", "approved"); !strings.Contains(out, "pay") {
		t.Errorf("listed:\n%s", out)
	}
	bot = w.start()
	w.must("approvals", "decide", w.pending(), "--approve", "--as", ben)
	w.answer(waiting, "R-2")
	w.decider(ben)
	w.judged(bot)
	for _, out := range w.outputs {
		if strings.Contains(out(), keyA) {
			t.Errorf("the key was printed:\n%s", out())
		}
	}
}

// TestEncryptedDatabase is TestEncryptedStore for a database: nothing that was written is in it, and without the keys
// nothing opens.
func TestEncryptedDatabase(t *testing.T) {
	t.Parallel()
	plain := walrus()
	plain.postgres = true
	control := newWorld(t, plain)
	control.start()
	control.decideOne()
	if found := shownBy(control.stored()); len(found) != 4 {
		t.Errorf("control: without keys the database shows only %q", found)
	}
	w := newWorld(t, plain)
	w.extra = append(w.extra, keysVariable("a:"+keyA))
	bot := w.start()
	w.decideOne()
	waiting := w.mention("send 6 " + canaryThread)
	w.card(waiting, 1)
	bot.stop()
	if found := shownBy(w.stored()); len(found) > 0 {
		t.Errorf("the database shows %q", found)
	}
	for keys, want := range map[string]string{
		"": "no key with the id a is given", "b:" + keyB: "no key with the id a is given",
		"a:" + keyB: "the key given as a is another one",
	} {
		for _, command := range []string{"approvals list", "audit verify", "run"} {
			_, complaint, code := w.with(keysVariable(keys), strings.Fields(command)...)
			if code != 2 || !strings.Contains(complaint, "COUNTERSIGN_ENCRYPTION_KEYS") ||
				!strings.Contains(complaint, want) || strings.Contains(complaint, keyB) {
				t.Errorf("%s: exit code %d, want 2 and %q in:\n%s", command, code, want, complaint)
			}
		}
	}
	w.start()
	w.must("approvals", "decide", w.pending(), "--approve", "--as", ben)
	w.answer(waiting, "R-2")
	w.verified()
}

// TestCompactTakesAPlainStoreOver gives keys to a bot that had none, and replaces them later.
func TestCompactTakesAPlainStoreOver(t *testing.T) {
	fileOnly(t, "a database is not taken over by compact, but moved")
	t.Parallel()
	w := newWalrus(t)
	bot := w.start()
	w.decideOne()
	w.with(keysVariable("a:"+keyA), "approvals", "list") // beside the bot no keys are needed, and they do no harm
	if _, complaint, code := w.run("compact"); code != 1 || !strings.Contains(complaint, "the bot runs") ||
		!strings.Contains(complaint, "stop it") {
		t.Errorf("compact beside the bot: %d %s", code, complaint)
	}
	bot.stop()
	want := []string{canaryThread, canaryArgs, canaryReason, canaryOutput}
	if found := w.shownIn("countersign.db"); !slices.Equal(found, want) {
		t.Errorf("control: the plain file shows only %q", found)
	}
	if out := w.must("compact"); !strings.Contains(out, "not encrypted") {
		t.Errorf("compact says %q", out)
	}
	w.extra = append(w.extra, keysVariable("a:"+keyA))
	for _, args := range [][]string{{"run"}, {"approvals", "list"}} {
		if _, complaint, code := w.run(args...); code != 2 || !strings.Contains(complaint, `"countersign compact"`) {
			t.Errorf("%q on a plain store with keys: %d %s", args, code, complaint)
		}
	}
	out, progress, code := w.run("compact")
	if code != 0 || !strings.Contains(out, "encrypted now, under the key a") ||
		!strings.Contains(out, "bytes before") || !strings.Contains(progress, "records") {
		t.Errorf("compact: %d %s%s", code, out, progress)
	}
	if found := w.shownIn("countersign.db"); len(found) > 0 {
		t.Errorf("taken over, the file shows %q", found)
	}
	bot = w.start()
	w.decideOne()
	bot.stop()
	w.extra[len(w.extra)-1] = keysVariable("b:" + keyB + ",a:" + keyA)
	bot = w.start()
	w.decideOne()
	bot.stop()
	if out := w.must("compact"); !strings.Contains(out, "encrypted under the key b") {
		t.Errorf("compact says %q", out)
	}
	w.extra[len(w.extra)-1] = keysVariable("b:" + keyB)
	if out := w.must("approvals", "list", "--status", "approved"); strings.Count(out, "pay") < 3 {
		t.Errorf("listed:\n%s", out)
	}
	w.verified()
	if found := w.shownIn("countersign.db"); len(found) > 0 {
		t.Errorf("after the keys were replaced, the file shows %q", found)
	}
}
