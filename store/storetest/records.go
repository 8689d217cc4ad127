package storetest

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

func records() []promise {
	return []promise{
		{"RoundTrip", "what was decided is what is read, field by field", testRoundTrip},
		{"OwnRecords", "a caller may change its records, and keep them when the transaction has ended", testOwnRecords},
		{"BytesKept", "digests and signatures are computed over bytes", testBytesKept},
		{"BytewiseOrder", "pages continue where they ended, whatever the collation of the database", testBytewiseOrder},
		{"Limits", "a page of nothing is empty, and costs nothing", testLimits},
		{"IncompleteKeys", "a record without a key would be everybody's", testIncompleteKeys},
		{"DeleteNothing",
			"what was deleted may be deleted again, by somebody who did not hear of it", testDeleteNothing},
		{"Workspaces", "one tenant never sees what belongs to another", testWorkspaces},
		{"Once", "an event that is delivered again is recognised, unless its transaction failed", testOnce},
	}
}

func testRoundTrip(s *suite) {
	r, in, q, e := filled[approvals.Run](1), filled[approvals.QueuedInput](2), filled[approvals.Request](3),
		filled[approvals.EffectRecord](4)
	n, d, a, u := filled[approvals.Notification](5), filled[approvals.Notification](6), filled[approvals.AuditEntry](7),
		filled[approvals.AuditEntry](8)
	n.Dead, a.Seq, u.Seq = time.Time{}, 1, 0
	s.update(func(tx approvals.Tx) error {
		return errors.Join(tx.PutRun(r), tx.PutInput(in), tx.PutRequest(q), tx.PutEffect(e), tx.PutNotification(n),
			tx.PutNotification(d), tx.AppendAudit(a), tx.AppendAudit(u))
	})
	n.Card = filled[approvals.Request](9) // is not stored
	s.update(func(tx approvals.Tx) error { return tx.PutNotification(n) })
	n.Card = nil
	s.view(func(tx approvals.Tx) error {
		gotRun, err1 := tx.Run(r.Workspace, r.ID)
		gotInputs, err2 := tx.Inputs(in.Workspace, in.Place, 10)
		gotEffect, err3 := tx.Effect(e.Workspace, e.Run, e.ID)
		gotOutbox, err4 := tx.Notifications(n.Workspace, n.Place, n.Copy, 10)
		gotDead, err5 := tx.DeadLetters(d.Workspace, "", 10)
		gotHead, err6 := tx.AuditHead(a.Workspace)
		gotUnsealed, err7 := tx.UnsealedAudit(u.Workspace, 10)
		same(s, "run", []*approvals.Run{r}, []*approvals.Run{gotRun})
		same(s, "inputs", []*approvals.QueuedInput{in}, gotInputs)
		same(s, "effect", []*approvals.EffectRecord{e}, []*approvals.EffectRecord{gotEffect})
		same(s, "notifications", []*approvals.Notification{n}, gotOutbox)
		same(s, "dead letters", []*approvals.Notification{d}, gotDead)
		same(s, "sealed", []*approvals.AuditEntry{a}, []*approvals.AuditEntry{gotHead})
		same(s, "unsealed", []*approvals.AuditEntry{u}, gotUnsealed)
		return errors.Join(err1, err2, err3, err4, err5, err6, err7)
	})
	s.expectRequest(q)
}

// exact is JSON of which every rewriting would change the bytes: escapes, order, numbers.
const exact = `{"z":"<b>&amp;\u00e9é\u2028` + "\u2028" + `","a":12345678901234567890.10,"e":1E400,"":[{}]}`

func testBytesKept(s *suite) {
	q := request("req_1", approvals.RequestPending)
	q.Arguments = json.RawMessage(exact)
	a, u := entry(1), unsealed("aud_2")
	a.Data, u.Data = json.RawMessage(exact), json.RawMessage(exact)
	spaced := json.RawMessage(" { \"a\" :\t1 }\n")
	text := "<b> & \u2028 \x00 \U0001f4b8 \\u0041"
	n, in := notification("ntf_1"), input("inp_1")
	n.Text, in.Text = text, text
	e := effect("eff_1")
	e.Output = &agent.ToolOutput{Text: text, Native: json.RawMessage(exact)}
	s.update(func(tx approvals.Tx) error {
		return errors.Join(
			tx.PutRequest(q), tx.AppendAudit(a, u), tx.PutNotification(n), tx.PutInput(in), tx.PutEffect(e),
			tx.PutState(ws, "run_1", agent.Delta{Head: spaced, Count: 1, Items: json.RawMessage(exact)}),
			tx.AppendSession(ws, place, "k", spaced))
	})
	s.update(func(tx approvals.Tx) error { return tx.PutRequestHead(&q.RequestHead) })
	s.view(func(tx approvals.Tx) error {
		gotRequest, err1 := tx.Request(ws, "req_1")
		gotAudit, err2 := tx.AuditHead(ws)
		gotUnsealed, err3 := tx.UnsealedAudit(ws, 1)
		gotOutbox, err4 := tx.Notifications(ws, place, "", 1)
		gotInputs, err5 := tx.Inputs(ws, place, 1)
		head, chunks, err6 := tx.State(ws, "run_1")
		session, _, err7 := tx.SessionTail(ws, place, 1000)
		gotEffect, err8 := tx.Effect(ws, "run_1", "eff_1")
		if err := errors.Join(err1, err2, err3, err4, err5, err6, err7, err8); err != nil {
			return err
		}
		same(s, "bytes", []string{exact, exact, exact, exact, string(spaced), exact, string(spaced)},
			[]string{string(gotRequest.Arguments), string(gotAudit.Data), string(gotUnsealed[0].Data),
				string(gotEffect.Output.Native), string(head), string(chunks[0]), string(session[0])})
		same(s, "texts", []string{text, text}, []string{gotOutbox[0].Text, gotInputs[0].Text})
		return nil
	})
}

// oddIDs are ids in the order of their bytes, which is not that of any language.
var oddIDs = []string{"B", "Z10", "Z9", "_", "a", "a\x00b", "a!", "aa", "a|b", "b", "ä", "\U0001f4b8"}

// typed converts ids.
func typed[ID ~string](ids []string) []ID {
	return idsOf(ids, func(id string) ID { return ID(id) })
}

func testBytewiseOrder(s *suite) {
	ids := slices.Clone(oddIDs)
	slices.Reverse(ids)
	s.update(func(tx approvals.Tx) error {
		for _, id := range ids {
			err := errors.Join(
				tx.PutRequest(request(approvals.RequestID(id), approvals.RequestPending)),
				tx.PutEffect(effect(id)),
				tx.PutInput(input(approvals.InputID(id))),
				tx.AppendAudit(unsealed(approvals.AuditID(id))),
				tx.PutNotification(notification(approvals.NotificationID(id))),
				tx.PutNotification(dead(approvals.NotificationID(id+"."))))
			if err != nil {
				return err
			}
		}
		return nil
	})
	s.view(func(tx approvals.Tx) error {
		ofRun, err1 := tx.RequestsOfRun(ws, "run_1")
		effects, err2 := tx.EffectsOfRun(ws, "run_1")
		inputs, err3 := tx.Inputs(ws, place, 100)
		entries, err4 := tx.UnsealedAudit(ws, 100)
		outbox, err5 := tx.Notifications(ws, place, "", 100)
		same(s, "requests of the run", typed[approvals.RequestID](oddIDs), idsOf(ofRun, headID))
		same(s, "effects", oddIDs, idsOf(effects, func(e *approvals.EffectRecord) string { return e.ID }))
		same(s, "inputs", typed[approvals.InputID](oddIDs), idsOf(inputs, inputID))
		same(s, "unsealed entries", typed[approvals.AuditID](oddIDs), idsOf(entries, auditID))
		same(s, "notifications", typed[approvals.NotificationID](oddIDs), idsOf(outbox, notificationID))
		return errors.Join(err1, err2, err3, err4, err5)
	})
	for i, id := range oddIDs {
		q := approvals.RequestQuery{
			Workspace: ws, Status: approvals.RequestPending, After: approvals.RequestID(id), Limit: 5,
		}
		same(s, "requests after "+id, typed[approvals.RequestID](oddIDs[i+1:]), s.query(q))
	}
	s.expectDeadOdd()
}

// expectDeadOdd checks that dead letters are listed in the order of their bytes, and continue there.
func (s *suite) expectDeadOdd() {
	s.Helper()
	want := typed[approvals.NotificationID](oddIDs)
	for i := range want {
		want[i] += "."
	}
	slices.Sort(want)
	for i := range len(want) + 1 {
		after := approvals.NotificationID("")
		if i > 0 {
			after = want[i-1]
		}
		s.view(func(tx approvals.Tx) error {
			list, err := tx.DeadLetters(ws, after, 100)
			same(s, "dead letters after "+string(after), want[i:], idsOf(list, notificationID))
			return err
		})
	}
}

func testLimits(s *suite) {
	s.update(func(tx approvals.Tx) error {
		return errors.Join(everything(tx), tx.PutRun(func() *approvals.Run {
			r := run("run_2", approvals.RunDone)
			r.Place.Thread, r.Ended = "another", now()
			return r
		}()))
	})
	soon := now().Add(time.Hour)
	s.view(func(tx approvals.Tx) error {
		for _, limit := range []int{1, 0, -1} {
			lapsed, err1 := tx.LapsedLeases(soon, soon, limit)
			ended, err2 := tx.EndedRuns(ws, soon, limit)
			inputs, err3 := tx.Inputs(ws, place, limit)
			requests, _, err4 := tx.QueryRequests(approvals.RequestQuery{Workspace: ws, Limit: limit})
			unsealed, err5 := tx.UnsealedAudit(ws, limit)
			sealed, err6 := tx.AuditEntries(ws, 0, limit)
			outbox, err7 := tx.Notifications(ws, place, "", limit)
			undelivered, err8 := tx.UndeliveredPlaces(soon, soon, limit)
			dead, err9 := tx.DeadLetters(ws, "", limit)
			runs, _, err10 := tx.QueryRuns(approvals.RunQuery{Workspace: ws, Limit: limit})
			if err := errors.Join(err1, err2, err3, err4, err5, err6, err7, err8, err9, err10); err != nil {
				return err
			}
			for i, n := range []int{
				len(lapsed), len(ended), len(inputs), len(requests), len(unsealed), len(sealed), len(outbox),
				len(undelivered), len(dead), len(runs),
			} {
				if n != max(limit, 0) {
					s.Errorf("list %d with limit %d has %d records", i+1, limit, n)
				}
			}
		}
		return nil
	})
}

func testIncompleteKeys(s *suite) {
	raw := json.RawMessage(`{}`)
	puts := map[string]func(tx approvals.Tx) error{
		"run":                   func(tx approvals.Tx) error { return tx.PutRun(&approvals.Run{Workspace: ws}) },
		"run without workspace": func(tx approvals.Tx) error { return tx.PutRun(&approvals.Run{ID: "run_1"}) },
		"input":                 func(tx approvals.Tx) error { return tx.PutInput(input("")) },
		"state":                 func(tx approvals.Tx) error { return tx.PutState(ws, "", agent.Delta{Head: raw}) },
		"request": func(tx approvals.Tx) error {
			return tx.PutRequest(request("", approvals.RequestPending))
		},
		"head of request": func(tx approvals.Tx) error { return tx.PutRequestHead(head("", approvals.RequestStale)) },
		"effect without run": func(tx approvals.Tx) error {
			return tx.PutEffect(&approvals.EffectRecord{Workspace: ws, ID: "eff_1"})
		},
		"grant without workspace": func(tx approvals.Tx) error {
			return tx.PutGrant(&approvals.Grant{ID: "grant_1"})
		},
		"grant without id":  func(tx approvals.Tx) error { return tx.PutGrant(grant("")) },
		"effect without id": func(tx approvals.Tx) error { return tx.PutEffect(effect("")) },
		"callback":          func(tx approvals.Tx) error { return tx.PutCallback(callback("", 1)) },
		"installation":      func(tx approvals.Tx) error { return tx.PutInstallation(installation("", "xoxb-1")) },
		"audit entry":       func(tx approvals.Tx) error { return tx.AppendAudit(&approvals.AuditEntry{Seq: 1}) },
		"unsealed entry":    func(tx approvals.Tx) error { return tx.AppendAudit(unsealed("")) },
		"notification":      func(tx approvals.Tx) error { return tx.PutNotification(notification("")) },
		"session":           func(tx approvals.Tx) error { return tx.AppendSession(ws, place, "", raw) },
		"job":               func(tx approvals.Tx) error { return tx.Enqueue(job("")) },
		"job without kind": func(tx approvals.Tx) error {
			return tx.Enqueue(approvals.Job{Workspace: ws, ID: "run_1"})
		},
		"second job": func(tx approvals.Tx) error { return tx.Enqueue(job("run_1"), job("")) },
		"event":      func(tx approvals.Tx) error { _, err := tx.Once(ws, "", now()); return err },
		"state from before the start": func(tx approvals.Tx) error {
			return tx.PutState(ws, "run_1", agent.Delta{Head: raw, From: -1})
		},
		"state of fewer than none": func(tx approvals.Tx) error {
			return tx.PutState(ws, "run_1", agent.Delta{Head: raw, Count: -1})
		},
	}
	for what, put := range puts {
		if err := s.store.Update(s.ctx, put); !errors.Is(err, approvals.ErrInvalid) {
			s.Errorf("%s: %v, want ErrInvalid", what, err)
		}
	}
	s.expect(false)
}

func testDeleteNothing(s *suite) {
	deletions := func(tx approvals.Tx) error {
		more, err := tx.DeleteState(ws, "none", 1)
		if more {
			s.Error("there is more of nothing")
		}
		elsewhere := approvals.Place{Surface: "slack", Channel: "C2"}
		in := input("none")
		n := notification("none")
		return errors.Join(err, tx.DeleteRun(ws, "none"), tx.DeleteInput(in), tx.DeleteNotification(n),
			tx.DeleteSession(ws, elsewhere), tx.DeleteJob(ws, approvals.JobRun, "none"))
	}
	s.update(deletions)
	s.update(everything)
	s.update(deletions)
	s.expect(true)
}

func testWorkspaces(s *suite) {
	s.update(everything)
	s.view(func(tx approvals.Tx) error {
		for _, w := range []approvals.WorkspaceID{other, "T", "T1/x", "T1\x00", "T1|", "t1"} {
			there, _, err := found(tx, w)
			if err != nil {
				return err
			}
			if len(there) > 0 {
				s.Errorf("%q sees of %q: %q", w, ws, there)
			}
		}
		return nil
	})
	s.update(func(tx approvals.Tx) error {
		fresh, err := tx.Once(other, "event", now())
		if !fresh {
			s.Errorf("an event of %q is taken for one of %q", other, ws)
		}
		_, err2 := tx.DeleteState(other, "run_1", 0)
		in, n := input("inp_1"), notification("ntf_1")
		in.Workspace, n.Workspace = other, other
		return errors.Join(err, err2, tx.DeleteRun(other, "run_1"), tx.DeleteInput(in), tx.DeleteNotification(n),
			tx.DeleteSession(other, place))
	})
	s.expect(true)
}

func testOnce(s *suite) {
	take := func(key string, fail error) (fresh bool) {
		err := s.store.Update(s.ctx, func(tx approvals.Tx) (err error) {
			if fresh, err = tx.Once(ws, key, now()); err != nil {
				return err
			}
			if again, err := tx.Once(ws, key, now()); err != nil || again {
				s.Errorf("the same event twice in one transaction: %v, %v", again, err)
			}
			return fail
		})
		if err != fail {
			s.Errorf("once: %v", err)
		}
		return fresh
	}
	for i, want := range []bool{true, true, false} {
		var fail error
		if i == 0 {
			fail = errors.New("rolled back")
		}
		if got := take("event", fail); got != want {
			s.Errorf("delivery %d: new %v, want %v", i+1, got, want)
		}
	}
	s.reopen()
	if take("event", nil) || !take("event2", nil) {
		s.Error("after a restart events are not told apart")
	}
}
