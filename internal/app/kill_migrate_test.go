package app_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/internal/invariant"
)

// TestKillWhileMigrating kills the program while it brings a store of an older format to its own, between any two
// steps. The next start goes on, and nothing is missing.
func TestKillWhileMigrating(t *testing.T) {
	fileOnly(t, "it moves one file into another")
	t.Parallel()
	path, err := binaries.faults()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, settings{})
	w.write("countersign.db", oldStore(t))
	killed := 0
	for nth := 1; ; nth = 2 { // the first time at the first step; then one further each time
		bot := w.spawn(path, w.env(fmt.Sprintf("COUNTERSIGN_FAULT=migrate.step:%d", nth)), "run")
		ready := make(chan struct{})
		go func() {
			defer close(ready)
			if w.slack.WaitFor(w.ctx, func() bool { return w.slack.Connections() > 0 }) != nil {
				t.Error("the program neither came to the step nor to its work")
			}
		}()
		select {
		case <-bot.reach:
			killed++
			bot.kill()
			continue
		case <-ready:
		case <-bot.exited:
			t.Fatalf("the program ended:\n%s", bot.out.String())
		case <-time.After(patience):
			t.Fatal("the migration does not end")
		}
		w.judgedBy(func(seen *invariant.World) { // the store's people, cards and tools are not of this world
			seen.Workspaces = []approvals.WorkspaceID{"T1", "T2"}
			seen.CardsSeen, seen.AnswersSeen, seen.Deciders = false, false, nil
			seen.Ungated = append(seen.Ungated, "note", "ask_finance")
		}, bot)
		break
	}
	if killed < 3 {
		t.Errorf("killed %d times: the test does not test", killed)
	}
}

// oldStore is a store of an older format.
func oldStore(t *testing.T) string {
	t.Helper()
	f, err := os.Open("../../store/boltstore/testdata/format2.db.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	gz, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	old, err := io.ReadAll(gz)
	if err != nil {
		t.Fatal(err)
	}
	return string(old)
}
