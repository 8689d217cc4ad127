package storetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"countersign/agent"
	"countersign/approvals"
)

func records() []promise {
	return []promise{
		{"RoundTrip", "what was decided is what is read, field by field", testRoundTrip},
		{"OwnRecords", "a caller may change its records, and keep them when the transaction has ended", testOwnRecords},
		{"BytesKept", "digests and signatures are computed over bytes", testBytesKept},
		{"IncompleteKeys", "a record without a key would be everybody's", testIncompleteKeys},
		{"Workspaces", "one tenant never sees what belongs to another", testWorkspaces},
		{"State", "a long run is saved piece by piece, and a repeated piece replaces what it repeats", testState},
		{"BigState", "a state of 1 MiB is not unusual", testBigState},
		{"Effects", "the newest word about an execution counts", testEffects},
		{"Once", "an event that is delivered again is recognised, unless its transaction failed", testOnce},
		{"Session", "a repeated settle must not repeat the conversation", testSession},
	}
}

func testRoundTrip(s *suite) {
	r, q, e, n, a := filled[approvals.Run](1), filled[approvals.Request](2), filled[approvals.EffectRecord](3),
		filled[approvals.Notification](4), filled[approvals.AuditEntry](5)
	a.Seq = 1
	s.update(func(tx approvals.Tx) error {
		return errors.Join(tx.PutRun(r), tx.PutRequest(q), tx.PutEffect(e), tx.PutNotification(n), tx.PutAudit(a))
	})
	n.Card = filled[approvals.Request](6) // is not stored
	s.update(func(tx approvals.Tx) error { return tx.PutNotification(n) })
	n.Card = nil
	s.view(func(tx approvals.Tx) error {
		gotRun, err1 := tx.Run(r.Workspace, r.ID)
		gotRequest, err2 := tx.Request(q.Workspace, q.ID)
		gotEffect, err3 := tx.Effect(e.Workspace, e.Run, e.ID)
		gotOutbox, err4 := tx.Notifications(n.Workspace, n.Place, 10)
		gotHead, err5 := tx.AuditHead(a.Workspace)
		gotAudit, err6 := tx.AuditEntries(a.Workspace, 1, 10)
		for _, d := range []string{diff(r, gotRun), diff(q, gotRequest), diff(e, gotEffect), diff(a, gotHead),
			diff([]*approvals.Notification{n}, gotOutbox), diff([]*approvals.AuditEntry{a}, gotAudit)} {
			if d != "" {
				s.Errorf("put and read differ (-put +read):\n%s", d)
			}
		}
		return errors.Join(err1, err2, err3, err4, err5, err6)
	})
}

func testOwnRecords(s *suite) {
	put := filled[approvals.Request](1)
	put.Status = approvals.RequestPending
	want := filled[approvals.Request](1)
	want.Status = approvals.RequestPending
	head, chunk := json.RawMessage(`{"head":1}`), json.RawMessage(`[1]`)
	spoil := func(r *approvals.Request) {
		r.Decisions[0].Reason = "spoiled"
		r.Arguments[2] = 'X'
		r.Path[0] = "spoiled"
	}
	var got []*approvals.Request
	s.update(func(tx approvals.Tx) error {
		err := errors.Join(tx.PutRequest(put),
			tx.PutState(ws, "run_1", agent.Delta{Head: head, Count: 1, Items: chunk}))
		spoil(put)
		head[2], chunk[1] = 'X', 'X'
		r, err1 := tx.Request(want.Workspace, want.ID)
		list, err2 := tx.PendingRequests(want.Workspace, "", 10)
		ofRun, err3 := tx.RequestsOfRun(want.Workspace, want.Run)
		got = append(append(append(got[:0], r), list...), ofRun...)
		return errors.Join(err, err1, err2, err3)
	})
	for i, r := range got {
		if d := diff(want, r); d != "" {
			s.Errorf("read %d (-put +read):\n%s", i+1, d)
		}
		spoil(r)
	}
	s.reopen() // what was read must survive even this
	s.view(func(tx approvals.Tx) error {
		r, err := tx.Request(want.Workspace, want.ID)
		if d := diff(want, r); d != "" {
			s.Errorf("after its copies were changed (-put +read):\n%s", d)
		}
		h, chunks, err2 := tx.State(ws, "run_1")
		if string(h) != `{"head":1}` || len(chunks) != 1 || string(chunks[0]) != `[1]` {
			s.Errorf("state %s %s", h, chunks)
		}
		return errors.Join(err, err2)
	})
}

// exact is JSON of which every rewriting would change the bytes: escapes, order, numbers.
const exact = `{"z":"<b>&amp;\u00e9é\u2028` + "\u2028" + `","a":12345678901234567890.10,"e":1E400,"":[{}]}`

func testBytesKept(s *suite) {
	q := request("req_1", approvals.RequestPending)
	q.Arguments = json.RawMessage(exact)
	a := entry(1)
	a.Data = json.RawMessage(exact)
	spaced := json.RawMessage(" { \"a\" :\t1 }\n")
	text := "<b> & \u2028 \x00 \U0001f4b8 \\u0041"
	n := notification("ntf_1")
	n.Text = text
	e := effect("eff_1")
	e.Output = &agent.ToolOutput{Text: text, Native: json.RawMessage(exact)}
	s.update(func(tx approvals.Tx) error {
		return errors.Join(tx.PutRequest(q), tx.PutAudit(a), tx.PutNotification(n), tx.PutEffect(e),
			tx.PutState(ws, "run_1", agent.Delta{Head: spaced, Count: 1, Items: json.RawMessage(exact)}),
			tx.AppendSession(ws, place, "k", spaced))
	})
	s.view(func(tx approvals.Tx) error {
		gotRequest, err1 := tx.Request(ws, "req_1")
		gotAudit, err2 := tx.AuditHead(ws)
		gotOutbox, err3 := tx.Notifications(ws, place, 1)
		head, chunks, err4 := tx.State(ws, "run_1")
		session, err5 := tx.Session(ws, place)
		gotEffect, err6 := tx.Effect(ws, "run_1", "eff_1")
		if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
			return err
		}
		for what, pair := range map[string][2]string{
			"arguments":  {exact, string(gotRequest.Arguments)},
			"audit data": {exact, string(gotAudit.Data)},
			"output":     {exact, string(gotEffect.Output.Native)},
			"text":       {text, gotOutbox[0].Text},
			"state head": {string(spaced), string(head)},
			"state item": {exact, string(chunks[0])},
			"session":    {string(spaced), string(session[0])},
		} {
			if pair[0] != pair[1] {
				s.Errorf("%s: put %q, read %q", what, pair[0], pair[1])
			}
		}
		return nil
	})
}

func testIncompleteKeys(s *suite) {
	raw := json.RawMessage(`{}`)
	puts := map[string]func(tx approvals.Tx) error{
		"run":                         func(tx approvals.Tx) error { return tx.PutRun(&approvals.Run{Workspace: ws}) },
		"run without workspace":       func(tx approvals.Tx) error { return tx.PutRun(&approvals.Run{ID: "run_1"}) },
		"state":                       func(tx approvals.Tx) error { return tx.PutState(ws, "", agent.Delta{Head: raw}) },
		"request":                     func(tx approvals.Tx) error { return tx.PutRequest(&approvals.Request{Workspace: ws, Arguments: raw}) },
		"effect":                      func(tx approvals.Tx) error { return tx.PutEffect(&approvals.EffectRecord{Workspace: ws, ID: "e"}) },
		"audit entry":                 func(tx approvals.Tx) error { return tx.PutAudit(&approvals.AuditEntry{Seq: 1}) },
		"notification":                func(tx approvals.Tx) error { return tx.PutNotification(&approvals.Notification{Workspace: ws}) },
		"session":                     func(tx approvals.Tx) error { return tx.AppendSession(ws, place, "", raw) },
		"job":                         func(tx approvals.Tx) error { return tx.Enqueue(approvals.Job{Workspace: ws, Kind: approvals.JobRun}) },
		"job without kind":            func(tx approvals.Tx) error { return tx.Enqueue(approvals.Job{Workspace: ws, ID: "run_1"}) },
		"event":                       func(tx approvals.Tx) error { _, err := tx.Once(ws, "", now()); return err },
		"state from before the start": func(tx approvals.Tx) error { return tx.PutState(ws, "run_1", agent.Delta{Head: raw, From: -1}) },
	}
	for what, put := range puts {
		if err := s.store.Update(s.ctx, put); !errors.Is(err, approvals.ErrInvalid) {
			s.Errorf("%s: %v, want ErrInvalid", what, err)
		}
	}
}

func testWorkspaces(s *suite) {
	s.update(everything)
	odd := []approvals.WorkspaceID{other, "T", "T1/x", "T1\x00", "T1|", "t1"}
	s.view(func(tx approvals.Tx) error {
		for _, w := range odd {
			_, err1 := tx.Run(w, "run_1")
			_, err2 := tx.Request(w, "req_1")
			_, err3 := tx.ActiveRun(w, place)
			_, _, err4 := tx.State(w, "run_1")
			_, err5 := tx.Effect(w, "run_1", "eff_1")
			_, err6 := tx.AuditHead(w)
			for i, err := range []error{err1, err2, err3, err4, err5, err6} {
				if !errors.Is(err, approvals.ErrNotFound) {
					s.Errorf("%q, getter %d: %v, want ErrNotFound", w, i+1, err)
				}
			}
			pending, err1 := tx.PendingRequests(w, "", 10)
			ofRun, err2 := tx.RequestsOfRun(w, "run_1")
			audit, err3 := tx.AuditEntries(w, 0, 10)
			outbox, err4 := tx.Notifications(w, place, 10)
			session, err5 := tx.Session(w, place)
			active, err6 := tx.ActiveRuns(w, "", place.Channel)
			if n := len(pending) + len(ofRun) + len(audit) + len(outbox) + len(session) + active; n > 0 {
				s.Errorf("%q sees %d records of %q", w, n, ws)
			}
			if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
				return err
			}
		}
		return nil
	})
	s.update(func(tx approvals.Tx) error {
		fresh, err := tx.Once(other, "event", now())
		if !fresh {
			s.Errorf("an event of %q is taken for one of %q", other, ws)
		}
		e := entry(1)
		e.Workspace = other
		return errors.Join(err, tx.PutAudit(e))
	})
	s.view(func(tx approvals.Tx) error {
		list, err := tx.AuditWorkspaces()
		if d := diff([]approvals.WorkspaceID{ws, other}, list); d != "" {
			s.Errorf("audit workspaces (-want +got):\n%s", d)
		}
		return err
	})
}

func testState(s *suite) {
	put := func(head string, from, count int, items string) {
		s.Helper()
		s.update(func(tx approvals.Tx) error {
			d := agent.Delta{Head: json.RawMessage(head), From: from, Count: count}
			if count > 0 {
				d.Items = json.RawMessage(items)
			}
			return tx.PutState(ws, "run_1", d)
		})
	}
	expect := func(want ...string) {
		s.Helper()
		s.view(func(tx approvals.Tx) error {
			head, chunks, err := tx.State(ws, "run_1")
			got := []string{string(head)}
			for _, c := range chunks {
				got = append(got, string(c))
			}
			if d := diff(want, got); d != "" {
				s.Errorf("state (-want +got):\n%s", d)
			}
			return err
		})
	}
	put(`"h1"`, 0, 2, `[1,2]`)
	put(`"h2"`, 2, 300, `["a"]`)
	put(`"h3"`, 302, 1, `["b"]`)
	expect(`"h3"`, `[1,2]`, `["a"]`, `["b"]`)
	put(`"h4"`, 302, 0, ``)
	expect(`"h4"`, `[1,2]`, `["a"]`, `["b"]`)
	put(`"h5"`, 2, 1, `["c"]`)
	expect(`"h5"`, `[1,2]`, `["c"]`)
	s.update(func(tx approvals.Tx) error {
		return tx.PutState(ws, "run_10", agent.Delta{Head: json.RawMessage(`"x"`), Count: 1, Items: json.RawMessage(`[]`)})
	})
	expect(`"h5"`, `[1,2]`, `["c"]`)
	s.update(func(tx approvals.Tx) error {
		return errors.Join(tx.DeleteState(ws, "run_1"), tx.DeleteState(ws, "none"))
	})
	s.view(func(tx approvals.Tx) error {
		if _, _, err := tx.State(ws, "run_1"); !errors.Is(err, approvals.ErrNotFound) {
			s.Errorf("deleted state: %v, want ErrNotFound", err)
		}
		_, chunks, err := tx.State(ws, "run_10")
		if len(chunks) != 1 {
			s.Error("the state of another run went too")
		}
		return err
	})
	put(`"h6"`, 0, 1, `[1]`)
	expect(`"h6"`, `[1]`)
}

func testBigState(s *suite) {
	big := json.RawMessage(fmt.Sprintf("%q", bytes.Repeat([]byte{'x'}, 1<<20)))
	for from := range 3 {
		s.update(func(tx approvals.Tx) error {
			return tx.PutState(ws, "run_1", agent.Delta{Head: big, From: from, Count: 1, Items: big})
		})
	}
	s.reopen()
	s.view(func(tx approvals.Tx) error {
		head, chunks, err := tx.State(ws, "run_1")
		for _, part := range append(chunks, head) {
			if !bytes.Equal(part, big) {
				s.Errorf("%d bytes came back of %d", len(part), len(big))
			}
		}
		if len(chunks) != 3 {
			s.Errorf("%d chunks, want 3", len(chunks))
		}
		return err
	})
}

func testEffects(s *suite) {
	e := filled[approvals.EffectRecord](1)
	e.Done, e.Output = e.Done.UTC(), nil
	s.update(func(tx approvals.Tx) error { return tx.PutEffect(e) })
	e.Attempt, e.Output = 2, &agent.ToolOutput{Text: "done"}
	s.update(func(tx approvals.Tx) error { return tx.PutEffect(e) })
	s.view(func(tx approvals.Tx) error {
		got, err := tx.Effect(e.Workspace, e.Run, e.ID)
		if d := diff(e, got); d != "" {
			s.Errorf("effect (-want +got):\n%s", d)
		}
		if _, err := tx.Effect(e.Workspace, "run_2", e.ID); !errors.Is(err, approvals.ErrNotFound) {
			s.Errorf("effect of another run: %v, want ErrNotFound", err)
		}
		return err
	})
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

func testSession(s *suite) {
	add := func(p approvals.Place, key, items string) {
		s.update(func(tx approvals.Tx) error { return tx.AppendSession(ws, p, key, json.RawMessage(items)) })
	}
	elsewhere := place
	elsewhere.Thread += "1"
	want := []json.RawMessage{}
	for i := range 12 { // more than ten, so that the order of text would show
		items := fmt.Sprintf("[%d]", i)
		want = append(want, json.RawMessage(items))
		add(place, fmt.Sprintf("run_%d", 99-i), items)
	}
	add(place, "run_99", `["again"]`)
	add(elsewhere, "run_99", `["elsewhere"]`)
	s.reopen()
	add(place, "run_98", `["again"]`)
	s.view(func(tx approvals.Tx) error {
		got, err := tx.Session(ws, place)
		if d := diff(want, got); d != "" {
			s.Errorf("session (-want +got):\n%s", d)
		}
		got, err2 := tx.Session(ws, elsewhere)
		if len(got) != 1 {
			s.Errorf("session elsewhere: %s", got)
		}
		return errors.Join(err, err2)
	})
}
