package app_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"countersign/approvals"
)

// inStore changes the store of a bot that does not run.
func (w *world) inStore(change func(tx approvals.Tx, ws approvals.WorkspaceID) error) {
	w.t.Helper()
	st := w.openStore()
	defer st.Close()
	err := st.Update(w.ctx, func(tx approvals.Tx) error {
		all, err := tx.AuditWorkspaces()
		if err != nil {
			return err
		}
		return change(tx, all[0])
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// must runs a command that succeeds and returns what it printed.
func (w *world) must(args ...string) string {
	w.t.Helper()
	out, complaint, code := w.run(args...)
	if code != 0 {
		w.t.Fatalf("%q: %d\n%s%s", args, code, out, complaint)
	}
	return out
}

// TestCommandsSayWhatBecameOfACall beside what people decided, with and without a running bot.
func TestCommandsSayWhatBecameOfACall(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	bot := w.start()
	thread := w.mention("pay 5")
	w.card(thread, 1)
	id := w.pending()
	bot.stop()
	if out := w.must("approvals", "decide", id, "--approve", "--as", ben); out !=
		id+" is approved. The call waits for its turn.\n" {
		t.Errorf("decide says %q", out)
	}
	if out := w.must("approvals", "list", "--status", "approved"); !strings.Contains(out, "waits for its turn") {
		t.Errorf("list:\n%s", out)
	}
	bot = w.start()
	w.answer(thread, "R-1")
	w.card(w.mention("pay 6"), 1)
	for _, running := range []bool{true, false} {
		if !running {
			bot.stop()
		}
		if out := w.must("approvals", "show", id); !strings.Contains(out, "\nstatus       approved, since ") ||
			!strings.Contains(out, "\noutcome      ran at ") {
			t.Errorf("show:\n%s", out)
		}
		var got struct{ ID, Run, Status, Digest, Outcome string }
		if err := json.Unmarshal([]byte(w.must("approvals", "show", id, "--json")), &got); err != nil || got.ID != id ||
			!strings.HasPrefix(got.Run, "run_") || got.Status != "approved" || len(got.Digest) != 64 ||
			got.Outcome != "ran" {
			t.Errorf("show --json: %v %+v", err, got)
		}
		for flags, want := range map[string]string{
			"":                                  "1",
			"--status all":                      "2",
			"--status approved":                 "1",
			"--status stale":                    "0",
			"--status all --tool pay":           "2",
			"--status all --tool look":          "0",
			"--status all --agent ops":          "2",
			"--status all --person " + ann:      "2",
			"--status all --person " + ben:      "1",
			"--status all --channel " + general: "2",
			"--status all --run " + got.Run:     "1",
			"--status all --since 1h":           "2",
			"--status all --until 1h":           "0",
			"--status all --until " + time.Now().Add(time.Hour).UTC().Format(time.RFC3339): "2",
		} {
			args := append([]string{"approvals", "list", "--count"}, strings.Fields(flags)...)
			if out := strings.TrimSpace(w.must(args...)); out != want {
				t.Errorf("running %v: %q: %s, want %s", running, flags, out, want)
			}
		}
	}
}

// sealed waits until the trail is sealed to its end, which replicas do about once a second, and returns its head.
func (w *world) sealed() string {
	w.t.Helper()
	for {
		var report struct {
			Workspaces []struct {
				Head     string
				Unsealed int
			}
		}
		out := w.must("audit", "verify", "--json")
		if err := json.Unmarshal([]byte(out), &report); err != nil || len(report.Workspaces) != 1 {
			w.t.Fatalf("%s: %v", out, err)
		}
		if ws := report.Workspaces[0]; ws.Unsealed == 0 && ws.Head != "" {
			return ws.Head
		}
	}
}

// TestKeptHead shows that a store was replaced by an older one, which a chain without a key alone does not.
func TestKeptHead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	bot := w.start()
	thread := w.mention("pay 5")
	w.card(thread, 1)
	bot.stop()
	older := w.duplicate()
	bot = w.start()
	w.must("approvals", "decide", w.pending(), "--approve", "--as", ben)
	w.answer(thread, "R-1")
	head := w.sealed()
	for _, running := range []bool{true, false} {
		if !running {
			bot.stop()
		}
		out := w.must("audit", "verify", "--head", head)
		if !strings.Contains(out, "an entry has the head that was kept") || !strings.Contains(out, " agree, head ") {
			t.Errorf("running %v: the head is kept, and verify says\n%s", running, out)
		}
		if out, _, code := w.run("audit", "verify", "--head", strings.Repeat("ab", 32)); code != 1 ||
			!strings.Contains(out, "does not go on from what was verified then") {
			t.Errorf("running %v: another head: %d\n%s", running, code, out)
		}
	}
	w.store = older
	w.verified() // by itself it is in order
	out, complaint, code := w.run("audit", "verify", "--head", head, "--json")
	var got struct {
		OK    bool
		Head  string
		Error struct{ Reason string }
	}
	if err := json.Unmarshal([]byte(out), &got); code != 1 || err != nil || got.OK || got.Head != head ||
		!strings.Contains(got.Error.Reason, head) {
		t.Errorf("the older store: %d\n%s%s", code, out, complaint)
	}
}

// TestForgedDecisionIsNamed by the request that it is about.
func TestForgedDecisionIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	bot := w.start()
	thread := w.mention("pay 5")
	w.card(thread, 1)
	id := w.pending()
	w.must("approvals", "decide", id, "--approve", "--as", ben)
	w.answer(thread, "R-1")
	bot.stop()
	w.verified()
	w.inStore(func(tx approvals.Tx, ws approvals.WorkspaceID) error {
		r, err := tx.Request(ws, approvals.RequestID(id))
		if err != nil {
			return err
		}
		r.Decisions[0].By = approvals.NewUserID(ws, cleo)
		return tx.PutRequest(r)
	})
	if out, _, code := w.run("audit", "verify"); code != 1 || !strings.Contains(out, "at request "+id+": ") {
		t.Errorf("%d\n%s", code, out)
	}
}

// TestOutboxIsReplayed through the socket and on the file: what was given up reaches its thread.
func TestOutboxIsReplayed(t *testing.T) {
	t.Parallel()
	for _, running := range []bool{true, false} {
		t.Run(fmt.Sprintf("running %v", running), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, settings{})
			bot := w.start()
			thread := w.mention("pay 1")
			w.answer(thread, "R-1")
			bot.stop()
			w.inStore(func(tx approvals.Tx, ws approvals.WorkspaceID) error {
				return tx.PutNotification(&approvals.Notification{Workspace: ws, ID: "ntf_1", Run: "run_1",
					Kind: approvals.NotifyNotice, Text: "late news", Created: tx.Now(), Dead: tx.Now(),
					Why:   "not_in_channel",
					Place: approvals.Place{Surface: "slack", Channel: general, Thread: thread}})
			})
			if running {
				w.start()
			}
			if out := w.must("outbox", "list"); !strings.Contains(out, "ntf_1") || strings.Contains(out, "late news") ||
				!strings.Contains(out, "not_in_channel") {
				t.Errorf("list:\n%s", out)
			}
			if _, complaint, code := w.run("outbox", "replay", "ntf_2"); code != 1 ||
				!strings.Contains(complaint, "no dead letter has the id ntf_2") {
				t.Errorf("replay of another: %d %s", code, complaint)
			}
			when := map[bool]string{true: "delivers it now", false: "when it runs next"}[running]
			if out := w.must("outbox", "replay", "--all"); !strings.Contains(out, "1 of 1") ||
				!strings.Contains(out, when) {
				t.Errorf("replay: %s, want %q", out, when)
			}
			if !running {
				w.start()
			}
			w.answer(thread, "late news")
			if out := w.must("outbox", "list"); out != "Nothing was given up.\n" {
				t.Errorf("list:\n%s", out)
			}
			if trail := w.trail(); trail["notification.replayed"] != 1 {
				t.Errorf("the trail: %v", trail)
			}
			w.verified()
		})
	}
}
