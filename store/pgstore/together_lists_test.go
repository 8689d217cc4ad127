package pgstore

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

var listedAt = approvals.Place{Surface: "slack", Channel: "C1", Thread: "1"}

func listedRun(id approvals.RunID, status approvals.RunStatus) *approvals.Run {
	return &approvals.Run{Workspace: "T1", ID: id, Place: listedAt, Requester: "T1/U1", Status: status}
}

func listedRequest(id approvals.RequestID) *approvals.Request {
	return &approvals.Request{
		RequestHead: approvals.RequestHead{Workspace: "T1", ID: id, Run: "run_1", Requester: "T1/U1",
			Status: approvals.RequestPending},
		RequestContent: approvals.RequestContent{Arguments: json.RawMessage(`{}`)},
	}
}

func counted[T any](list []T, err error) (int, error) { return len(list), err }

// listChanges are what closures do to lists, and how others read them. before is what is there.
var listChanges = []struct {
	name           string
	before, change func(approvals.Tx) error
	read           func(approvals.Tx) (int, error)
	want           int // what is read after the change
}{
	{name: "RequestsOfRun", want: 1,
		change: func(tx approvals.Tx) error { return tx.PutRequest(listedRequest("req_1")) },
		read:   func(tx approvals.Tx) (int, error) { return counted(tx.RequestsOfRun("T1", "run_1")) }},
	{name: "PendingOf", want: 1,
		change: func(tx approvals.Tx) error { return tx.PutRequest(listedRequest("req_1")) },
		read:   func(tx approvals.Tx) (int, error) { return tx.PendingOf("T1", "T1/U1") }},
	{name: "PendingOf, one less",
		before: func(tx approvals.Tx) error { return tx.PutRequest(listedRequest("req_1")) },
		change: func(tx approvals.Tx) error {
			r, err := tx.RequestHead("T1", "req_1")
			if err != nil {
				return err
			}
			r.Status = approvals.RequestApproved
			return tx.PutRequestHead(r)
		},
		read: func(tx approvals.Tx) (int, error) { return tx.PendingOf("T1", "T1/U1") }},
	{name: "EffectsOfRun", want: 1,
		change: writeEffect("eff_1"),
		read:   func(tx approvals.Tx) (int, error) { return counted(tx.EffectsOfRun("T1", "run_1")) }},
	{name: "State", want: 1,
		change: func(tx approvals.Tx) error { return tx.PutState("T1", "run_1", chunkOf(1)) },
		read: func(tx approvals.Tx) (int, error) {
			_, chunks, err := tx.State("T1", "run_1")
			return len(chunks), unlessAbsent(err)
		}},
	{name: "DeleteState",
		before: func(tx approvals.Tx) error { return tx.PutState("T1", "run_1", chunkOf(1)) },
		change: func(tx approvals.Tx) error { _, err := tx.DeleteState("T1", "run_1", 1); return err },
		read: func(tx approvals.Tx) (int, error) {
			_, chunks, err := tx.State("T1", "run_1")
			return len(chunks), unlessAbsent(err)
		}},
	{name: "ActiveRun", want: 1,
		change: func(tx approvals.Tx) error { return tx.PutRun(listedRun("run_9", approvals.RunQueued)) },
		read: func(tx approvals.Tx) (int, error) {
			r, err := tx.ActiveRun("T1", listedAt)
			if r == nil {
				return 0, unlessAbsent(err)
			}
			return 1, err
		}},
	{name: "ActiveRun, changed", want: 7,
		before: func(tx approvals.Tx) error { return tx.PutRun(listedRun("run_9", approvals.RunQueued)) },
		change: func(tx approvals.Tx) error {
			r, err := tx.Run("T1", "run_9")
			if err != nil {
				return err
			}
			r.Queued = 7
			return tx.PutRun(r)
		},
		read: func(tx approvals.Tx) (int, error) {
			r, err := tx.ActiveRun("T1", listedAt)
			if err != nil {
				return 0, err
			}
			return r.Queued, nil
		}},
	{name: "ActiveRuns of a person", want: 1,
		change: func(tx approvals.Tx) error { return tx.PutRun(listedRun("run_9", approvals.RunQueued)) },
		read:   func(tx approvals.Tx) (int, error) { return tx.ActiveRuns("T1", "T1/U1", "") }},
	{name: "ActiveRuns in a channel",
		before: func(tx approvals.Tx) error { return tx.PutRun(listedRun("run_9", approvals.RunQueued)) },
		change: func(tx approvals.Tx) error {
			r, err := tx.Run("T1", "run_9")
			if err != nil {
				return err
			}
			r.Status = approvals.RunCancelled
			return tx.PutRun(r)
		},
		read: func(tx approvals.Tx) (int, error) { return tx.ActiveRuns("T1", "", "C1") }},
	{name: "ActiveRuns of both", want: 1,
		change: func(tx approvals.Tx) error { return tx.PutRun(listedRun("run_9", approvals.RunQueued)) },
		read:   func(tx approvals.Tx) (int, error) { return tx.ActiveRuns("T1", "T1/U1", "C1") }},
	{name: "Inputs", want: 1,
		change: func(tx approvals.Tx) error { return tx.PutInput(listedInput) },
		read:   func(tx approvals.Tx) (int, error) { return counted(tx.Inputs("T1", listedAt, 9)) }},
	{name: "DeleteInput",
		before: func(tx approvals.Tx) error { return tx.PutInput(listedInput) },
		change: func(tx approvals.Tx) error { return tx.DeleteInput(listedInput) },
		read:   func(tx approvals.Tx) (int, error) { return counted(tx.Inputs("T1", listedAt, 9)) }},
	{name: "Notifications", want: 1,
		change: func(tx approvals.Tx) error { return tx.PutNotification(listedNote) },
		read:   func(tx approvals.Tx) (int, error) { return counted(tx.Notifications("T1", listedAt, "dm:U1", 9)) }},
	{name: "DeleteNotification",
		before: func(tx approvals.Tx) error { return tx.PutNotification(listedNote) },
		change: func(tx approvals.Tx) error { return tx.DeleteNotification(listedNote) },
		read:   func(tx approvals.Tx) (int, error) { return counted(tx.Notifications("T1", listedAt, "dm:U1", 9)) }},
	{name: "OpenGrants", want: 1,
		change: func(tx approvals.Tx) error {
			return tx.PutGrant(&approvals.Grant{Workspace: "T1", ID: "grant_1", Agent: "ops", Tool: "pay",
				Expires: time.Now().Add(time.Hour)})
		},
		read: func(tx approvals.Tx) (int, error) { return counted(tx.OpenGrants("T1", "ops", "pay", tx.Now(), 9)) }},
	{name: "SessionTail", want: 1,
		change: func(tx approvals.Tx) error {
			return tx.AppendSession("T1", listedAt, "run_1", json.RawMessage(`[1]`))
		},
		read: func(tx approvals.Tx) (int, error) {
			chunks, _, err := tx.SessionTail("T1", listedAt, 1000)
			return len(chunks), err
		}},
	{name: "Once", want: 0,
		change: func(tx approvals.Tx) error { _, err := tx.Once("T1", "event", tx.Now()); return err },
		read: func(tx approvals.Tx) (int, error) {
			if fresh, err := tx.Once("T1", "event", tx.Now()); err != nil || !fresh {
				return 0, err
			}
			return 1, nil
		}},
}

var (
	listedInput = &approvals.QueuedInput{Workspace: "T1", Place: listedAt, ID: "inp_1", Text: "hello"}
	listedNote  = &approvals.Notification{Workspace: "T1", Place: listedAt, Copy: "dm:U1", ID: "ntf_1"}
)

func chunkOf(n int) agent.Delta {
	return agent.Delta{Head: json.RawMessage(`{}`), Count: n, Items: json.RawMessage(`[1]`)}
}

func unlessAbsent(err error) error {
	if errors.Is(err, approvals.ErrNotFound) {
		return nil
	}
	return err
}

// changedAndRead has one closure change a list and another one of the same transaction, which is to be committed behind
// it, read that. It returns what the latter had read when it was committed, and whether it was ever in that
// transaction.
func changedAndRead(t *testing.T, s *Store, change func(approvals.Tx) error, read func(approvals.Tx) (int, error)) (
	had int, together bool,
) {
	t.Helper()
	var numbers [2][]string
	errs := sharing(t, s, 2, func(i int) func(*tx) error {
		if i == 0 {
			return func(tx *tx) error {
				tx.Now()
				numbers[0] = append(numbers[0], tx.id)
				return change(tx)
			}
		}
		return func(tx *tx) (err error) {
			tx.Now()
			numbers[1] = append(numbers[1], tx.id)
			if had, err = read(tx); err != nil {
				return err
			}
			for over := tx.shared == nil; !over; { // the other one has finished
				tx.shared.b.mu.Lock()
				over = len(tx.shared.b.written) > 0
				tx.shared.b.mu.Unlock()
			}
			return tx.AppendAudit(&approvals.AuditEntry{Workspace: "T1", ID: "aud_1"})
		}
	})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return had, slices.Contains(numbers[1], numbers[0][len(numbers[0])-1])
}

// TestTogetherLists: whoever reads a list in a transaction that several share, and is committed behind one who changes
// it, has read it as that one leaves it.
func TestTogetherLists(t *testing.T) {
	t.Parallel()
	for _, c := range listChanges {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, loose := range []bool{false, true} { // the control
				s := openStore(t, newURL(t), Config{straggling: time.Minute, loose: loose})
				if c.before != nil {
					if err := s.Update(t.Context(), c.before); err != nil {
						t.Fatal(err)
					}
				}
				had, together := changedAndRead(t, s, c.change, c.read)
				if !together {
					t.Errorf("loose %v: the two have not shared a transaction", loose)
				}
				if (had == c.want) == loose {
					t.Errorf("loose %v: %d were read, want %d", loose, had, c.want)
				}
			}
		})
	}
}

// TestTogetherNotNew: a record that a closure writes without having read it is one that is new, or else nobody shares:
// its lists change from what they were.
func TestTogetherNotNew(t *testing.T) {
	t.Parallel()
	s := openStore(t, newURL(t), Config{straggling: time.Minute})
	err := s.Update(t.Context(), func(tx approvals.Tx) error {
		moved := listedRequest("req_1")
		moved.Run = "run_2"
		return errors.Join(tx.PutRun(listedRun("run_1", approvals.RunQueued)), tx.PutRequest(moved))
	})
	if err != nil {
		t.Fatal(err)
	}
	errs := sharing(t, s, 3, func(i int) func(*tx) error {
		return []func(*tx) error{
			func(tx *tx) error { return tx.PutRun(listedRun("run_1", approvals.RunDone)) },
			func(tx *tx) error { return tx.PutRequest(listedRequest("req_1")) },
			func(tx *tx) error { return writeEffect("eff_1")(tx) },
		}[i]
	})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	err = s.View(t.Context(), func(tx approvals.Tx) error {
		open, err1 := tx.ActiveRuns("T1", "T1/U1", "")
		before, err2 := counted(tx.RequestsOfRun("T1", "run_2"))
		after, err3 := counted(tx.RequestsOfRun("T1", "run_1"))
		if open != 0 || before != 0 || after != 1 {
			t.Errorf("%d open runs, %d requests where it was, %d where it is", open, before, after)
		}
		return errors.Join(err1, err2, err3)
	})
	if err != nil || !hasEffect(t, s, "eff_1") {
		t.Error("what shared the transaction is not there", err)
	}
}
