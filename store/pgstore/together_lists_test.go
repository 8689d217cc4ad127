package pgstore

import (
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"strconv"
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
	{name: "RequestsOfRuns", want: 1,
		change: func(tx approvals.Tx) error { return tx.PutRequest(listedRequest("req_1")) },
		read: func(tx approvals.Tx) (int, error) {
			return counted(tx.RequestsOfRuns("T1", []approvals.RunID{"run_9", "run_1"}))
		}},
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
// it, read that. It returns what the latter had read when it was committed, and in which transactions both were.
func changedAndRead(t *testing.T, s *Store, change func(approvals.Tx) error, read func(approvals.Tx) (int, error)) (
	had int, numbers [2][]string,
) {
	t.Helper()
	s.updates.mu.Lock()
	s.updates.longest = time.Hour // who reads again does so behind the commit, however slow the machine is
	s.updates.mu.Unlock()
	errs := sharing(t, s, 2, func(i int) func(*tx) error {
		if i == 0 {
			return func(tx *tx) error {
				err := change(tx)
				tx.Now() // it has its number from then on, also where nothing was read
				numbers[0] = append(numbers[0], tx.id)
				return err
			}
		}
		return func(tx *tx) (err error) {
			if had, err = read(tx); err != nil {
				return err
			}
			numbers[1] = append(numbers[1], tx.id)
			for over := tx.shared == nil; !over; { // the other one has finished
				tx.shared.b.mu.Lock()
				over = len(tx.shared.b.written) > 0
				tx.shared.b.mu.Unlock()
				runtime.Gosched()
			}
			return tx.AppendAudit(&approvals.AuditEntry{Workspace: "T1", ID: "aud_1"})
		}
	})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return had, numbers
}

func last(list []string) string { return list[len(list)-1] }

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
				had, numbers := changedAndRead(t, s, c.change, c.read)
				if !slices.Contains(numbers[1], last(numbers[0])) {
					t.Errorf("loose %v: the two have not shared a transaction: %v", loose, numbers)
				}
				if (had == c.want) == loose {
					t.Errorf("loose %v: %d were read, want %d", loose, had, c.want)
				}
			}
		})
	}
}

// TestTogetherOwnLists: a closure that reads a list which it has changed itself has read it as it leaves it, whoever
// shares the transaction.
func TestTogetherOwnLists(t *testing.T) {
	t.Parallel()
	for _, c := range listChanges {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := openStore(t, newURL(t), Config{straggling: time.Minute})
			if c.before != nil {
				if err := s.Update(t.Context(), c.before); err != nil {
					t.Fatal(err)
				}
			}
			var had int
			errs := sharing(t, s, 2, func(i int) func(*tx) error {
				if i == 0 {
					return func(tx *tx) error {
						return tx.AppendAudit(&approvals.AuditEntry{Workspace: "T1", ID: "aud_1"})
					}
				}
				return func(tx *tx) (err error) {
					if err = c.change(tx); err == nil {
						had, err = c.read(tx)
					}
					return err
				}
			})
			if err := errors.Join(errs...); err != nil || had != c.want {
				t.Errorf("%d were read, want %d: %v", had, c.want, err)
			}
		})
	}
}

// TestTogetherNotNew: a record that a closure writes without having read it is one that is new, or else nobody shares:
// in which lists it was nobody knows.
func TestTogetherNotNew(t *testing.T) {
	t.Parallel()
	elsewhere := approvals.Place{Surface: "slack", Channel: "C2", Thread: "2"}
	for name, c := range map[string]struct {
		before, change func(approvals.Tx) error
		read           func(approvals.Tx) (int, error)
	}{
		"run": {
			before: func(tx approvals.Tx) error {
				r := listedRun("run_9", approvals.RunQueued)
				r.Place = elsewhere
				return tx.PutRun(r)
			},
			change: func(tx approvals.Tx) error { return tx.PutRun(listedRun("run_9", approvals.RunQueued)) },
			read:   func(tx approvals.Tx) (int, error) { return tx.ActiveRuns("T1", "", "C2") },
		},
		"request": {
			before: func(tx approvals.Tx) error {
				r := listedRequest("req_1")
				r.Run = "run_2"
				return tx.PutRequest(r)
			},
			change: func(tx approvals.Tx) error { return tx.PutRequest(listedRequest("req_1")) },
			read:   func(tx approvals.Tx) (int, error) { return counted(tx.RequestsOfRun("T1", "run_2")) },
		},
		"notification": {
			before: func(tx approvals.Tx) error {
				return tx.PutNotification(&approvals.Notification{Workspace: "T1", ID: "ntf_1", Place: elsewhere})
			},
			change: func(tx approvals.Tx) error {
				return tx.PutNotification(&approvals.Notification{
					Workspace: "T1", ID: "ntf_1", Place: elsewhere, Created: tx.Now(), Text: "new",
				})
			},
			read: func(tx approvals.Tx) (int, error) {
				list, err := tx.Notifications("T1", elsewhere, "", 10)
				if err == nil && len(list) == 1 && list[0].Text == "" {
					return 1, nil
				}
				return 0, err
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openStore(t, newURL(t), Config{straggling: time.Minute})
			if err := s.Update(t.Context(), c.before); err != nil {
				t.Fatal(err)
			}
			had, numbers := changedAndRead(t, s, c.change, c.read)
			changed, err1 := strconv.Atoi(last(numbers[0]))
			seen, err2 := strconv.Atoi(last(numbers[1]))
			if err1 != nil || err2 != nil || (had == 1) != (seen < changed) {
				t.Errorf("%d were read in transaction %d, changed in %d", had, seen, changed)
			}
			if n := len(numbers[0]); n != 2 {
				t.Errorf("the record was written %d times, want one in vain: %v", n, numbers)
			}
		})
	}
}
