package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckLooksAtTheFile: check says of a store in a file what a start would say: before it is there, beside a bot,
// and where the keys do not fit, it is damaged, or of an older format. It changes nothing.
func TestCheckLooksAtTheFile(t *testing.T) {
	fileOnly(t, "TestCheckAsksTheDatabase is about the other")
	t.Parallel()
	w := newWorld(t, settings{})
	says := func(variable string, code int, want ...string) {
		t.Helper()
		before := w.names()
		out, complaint, got := w.with(variable, "check")
		for _, words := range want {
			if got != code || !strings.Contains(out+complaint, words) {
				t.Errorf("%s: %d, want %d and %q in:\n%s%s", variable, got, code, words, out, complaint)
			}
		}
		if after := w.names(); after != before {
			t.Errorf("left behind: %s, before: %s", after, before)
		}
	}
	plain, keyed := keysVariable(""), keysVariable("a:"+keyA)
	says(plain, 0, "the file is not there yet: the first start makes it")
	says(keyed, 0, "the first start makes it, encrypted")
	bot := w.start()
	says(plain, 0, "a process has it open")
	bot.stop()
	says(plain, 0, "the file has the format of this program, and is not encrypted")
	says(keyed, 2, "COUNTERSIGN_ENCRYPTION_KEYS: ", "store is not encrypted, although keys are given")
	w.must("audit", "verify")
	if _, complaint, code := w.with(keyed, "compact"); code != 0 {
		t.Fatalf("compact: %d\n%s", code, complaint)
	}
	says(plain, 2, "COUNTERSIGN_ENCRYPTION_KEYS: ")
	says(keysVariable("b:"+keyB), 2, "COUNTERSIGN_ENCRYPTION_KEYS: ")
	says(keysVariable("a:"+keyB), 2, "COUNTERSIGN_ENCRYPTION_KEYS: ")
	says(keyed, 0, "the file has the format of this program, and is encrypted")
	whole := w.read("countersign.db")
	w.write("countersign.db", whole[:len(whole)/2])
	says(keyed, 1, "damaged")
	w.write("countersign.db", oldStore(t))
	says(plain, 0, "the file is of an earlier version: the next start brings it to the format of this one")
	w.write("countersign.db", "")
	says(plain, 0, "the first start makes it")
	if err := os.Remove(filepath.Join(w.dir, "countersign.db")); err != nil {
		t.Fatal(err)
	}
	if out := w.must("check", "--offline"); !strings.Contains(out, "store       not asked") {
		t.Errorf("offline:\n%s", out)
	}
}
