package control

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/store/boltstore"
)

// putLetters puts so many dead letters into each of two workspaces, and one notification that waits.
func putLetters(t *testing.T, st approvals.Store, each int) {
	t.Helper()
	at := time.Date(2026, 11, 2, 15, 0, 0, 0, time.UTC)
	err := st.Update(t.Context(), func(tx approvals.Tx) error {
		for _, ws := range []approvals.WorkspaceID{"T1", "T2"} {
			if err := tx.AppendAudit(&approvals.AuditEntry{Workspace: ws, Seq: 1, At: at}); err != nil {
				return err
			}
			for i := range each + 1 {
				n := &approvals.Notification{
					Workspace: ws, ID: approvals.NotificationID(fmt.Sprintf("ntf_%s_%03d", ws, i)), Run: "run_1",
					Kind: approvals.NotifyNotice, Text: "the secret plan", Created: at, Dead: at, Why: "not_in_channel",
					Place: approvals.Place{Surface: "slack", Channel: "C1", Thread: "1"},
				}
				if i == each {
					n.Dead, n.Why = time.Time{}, ""
				}
				if err := tx.PutNotification(n); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// dead pages through the dead letters.
func dead(t *testing.T, desk Desk, limit int) (ids []approvals.NotificationID) {
	t.Helper()
	var cursor Cursor
	for more := true; more; {
		page, next, err := desk.DeadLetters(t.Context(), cursor, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range page {
			ids, cursor = append(ids, d.ID), CursorAtLetter(d)
		}
		more = next
	}
	return ids
}

// TestOutbox lists what was given up and puts it back, on the store and through the socket.
func TestOutbox(t *testing.T) {
	t.Parallel()
	for _, socket := range []bool{false, true} {
		t.Run(fmt.Sprintf("socket %v", socket), func(t *testing.T) {
			t.Parallel()
			const each = 130 // more than is read at once
			st := newStore(t)
			putLetters(t, st, each)
			var desk Desk = &Local{Store: st}
			if socket {
				_, desk = serve(t, desk)
			}
			for _, limit := range []int{0, 1, 7, each, each + 1, 2 * each} {
				ids := dead(t, desk, limit)
				if len(ids) != 2*each || !slices.IsSorted(ids) || len(slices.Compact(ids)) != 2*each {
					t.Errorf("limit %d: %d letters", limit, len(ids))
				}
			}
			page, _, err := desk.DeadLetters(t.Context(), Cursor{}, 1)
			if err != nil || len(page) != 1 || page[0].Why != "not_in_channel" || page[0].Since.IsZero() ||
				page[0].Place.Channel != "C1" || page[0].Run != "run_1" {
				t.Errorf("%+v, %v", page, err)
			}
			back, err := desk.Replay(t.Context(), "ntf_T1_003", "ntf_absent", "ntf_T2_129", "ntf_T1_003", "ntf_T1_130")
			slices.Sort(back)
			if err != nil || !slices.Equal(back, []approvals.NotificationID{"ntf_T1_003", "ntf_T2_129"}) {
				t.Errorf("replayed %q, %v", back, err)
			}
			left := dead(t, desk, 50)
			if len(left) != 2*each-2 || slices.Contains(left, "ntf_T1_003") || slices.Contains(left, "ntf_T2_129") {
				t.Errorf("%d letters are left", len(left))
			}
			waits(t, st, "T1", "ntf_T1_003", "ntf_T1_130")
			waits(t, st, "T2", "ntf_T2_129", "ntf_T2_130")
		})
	}
}

// waits fails the test unless exactly these wait to be delivered in the workspace.
func waits(t *testing.T, st approvals.Store, ws approvals.WorkspaceID, want ...approvals.NotificationID) {
	t.Helper()
	var got []approvals.NotificationID
	err := st.View(t.Context(), func(tx approvals.Tx) error {
		got = nil
		list, err := tx.Notifications(ws, approvals.Place{Surface: "slack", Channel: "C1", Thread: "1"}, "", 10)
		for _, n := range list {
			got = append(got, n.ID)
			if !n.Dead.IsZero() || n.Why != "" {
				t.Errorf("%s is in its queue, dead: %+v", n.ID, n)
			}
		}
		return err
	})
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%s: %q wait, want %q; %v", ws, got, want, err)
	}
}

// TestLettersSayNothing of what the notifications say: that is for the people of the conversation.
func TestLettersSayNothing(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	putLetters(t, st, 1)
	_, c := serve(t, &Local{Store: st})
	answer := get(t, c, "/v1/outbox/dead")
	if !strings.Contains(answer, "ntf_T1_000") || strings.Contains(answer, "secret") {
		t.Errorf("%s", answer)
	}
}

// TestOpenWrites the file only where that was asked for.
func TestOpenWrites(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	st, err := boltstore.Open(path, boltstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	putLetters(t, st, 1)
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	for _, write := range []bool{false, true} {
		cfg := Config{URL: "bolt:" + path, Path: path, Write: write, Logger: slog.New(slog.DiscardHandler)}
		desk, err := Open(t.Context(), cfg)
		if errors.Is(err, ErrNoOperator) {
			t.Skipf("the limit of file locks of this process is that of a tool: %v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		back, err := desk.Replay(t.Context(), "ntf_T1_000")
		if write != (err == nil && len(back) == 1) {
			t.Errorf("write %v: %q, %v", write, back, err)
		}
		if err := desk.Close(); err != nil {
			t.Error(err)
		}
	}
}
