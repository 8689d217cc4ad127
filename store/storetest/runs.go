package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

func runs() []promise {
	return []promise{
		{"ActiveRun", "one run at a time in a thread, and the next one when that has ended", testActiveRun},
		{"ActiveRuns", "limits per person and per channel count what is under way", testActiveRuns},
		{"PlaceIdentity", "what a channel is does not make it another conversation", testPlaceIdentity},
		{"LapsedLeases",
			"a run whose worker died, or whose job was lost, is found and taken up again", testLapsedLeases},
		{"LapsedCost", "somebody looks for such runs every few seconds, for years", testLapsedCost},
		{"EndedRuns", "what is old enough goes, the oldest first", testEndedRuns},
		{"DeleteRun", "what people wanted forgotten is gone, and what proves it is not", testDeleteRun},
		{"Effects", "the newest word about an execution counts", testEffects},
		{"EffectsOfRun", "a run that ends tells what it has done", testEffectsOfRun},
	}
}

func testActiveRun(s *suite) {
	expect := func(p approvals.Place, want approvals.RunID) {
		s.Helper()
		s.view(func(tx approvals.Tx) error {
			r, err := tx.ActiveRun(ws, p)
			if want == "" && errors.Is(err, approvals.ErrNotFound) {
				return nil
			}
			if err == nil && r.ID != want {
				s.Errorf("active run %q, want %q", r.ID, want)
			}
			return err
		})
	}
	for _, status := range []approvals.RunStatus{approvals.RunQueued, approvals.RunRunning, approvals.RunWaiting} {
		s.update(func(tx approvals.Tx) error { return tx.PutRun(run("run_1", status)) })
		expect(place, "run_1")
	}
	for _, status := range []approvals.RunStatus{approvals.RunDone, approvals.RunFailed, approvals.RunCancelled} {
		s.update(func(tx approvals.Tx) error { return tx.PutRun(run("run_1", status)) })
		expect(place, "")
		s.update(func(tx approvals.Tx) error { return tx.PutRun(run("run_2", approvals.RunQueued)) })
		expect(place, "run_2")
		s.update(func(tx approvals.Tx) error { return tx.PutRun(run("run_2", status)) })
	}
	s.update(func(tx approvals.Tx) error { return tx.PutRun(run("run_3", approvals.RunWaiting)) })
	s.reopen()
	for _, p := range []approvals.Place{
		{Surface: "slack2", Channel: place.Channel, Thread: place.Thread},
		{Surface: place.Surface, Channel: "C11", Thread: place.Thread},
		{Surface: place.Surface, Channel: place.Channel, Thread: ""},
		{Surface: place.Surface, Channel: place.Channel + place.Thread},
	} {
		expect(p, "")
	}
	expect(place, "run_3")
	direct := place
	direct.Direct = true // describes the channel, and is no part of the place's identity
	expect(direct, "run_3")
}

func testActiveRuns(s *suite) {
	put := func(id approvals.RunID, requester approvals.UserID, channel string, status approvals.RunStatus) {
		r := run(id, status)
		r.Requester, r.Place.Channel, r.Place.Thread = requester, channel, string(id)
		s.update(func(tx approvals.Tx) error { return tx.PutRun(r) })
	}
	put("run_1", "T1/U1", "C1", approvals.RunQueued)
	put("run_2", "T1/U1", "C2", approvals.RunWaiting)
	put("run_3", "T1/U2", "C1", approvals.RunRunning)
	put("run_4", "T1/U1", "C1", approvals.RunDone)
	put("run_5", "T1/U11", "C11", approvals.RunQueued)
	put("run_3", "T1/U2", "C1", approvals.RunWaiting) // again: still one
	put("run_6", "T1/U1", "C1", approvals.RunQueued)
	put("run_6", "T1/U1", "C1", approvals.RunFailed)
	s.view(func(tx approvals.Tx) error {
		for _, c := range []struct {
			requester approvals.UserID
			channel   string
			want      int
		}{{"T1/U1", "", 2}, {"T1/U2", "", 1}, {"T1/U", "", 0}, {"", "C1", 2}, {"", "C2", 1}, {"", "C", 0}} {
			n, err := tx.ActiveRuns(ws, c.requester, c.channel)
			if err != nil || n != c.want {
				s.Errorf("active runs of %q in %q: %d, %v, want %d", c.requester, c.channel, n, err, c.want)
			}
		}
		return nil
	})
}

func testPlaceIdentity(s *suite) {
	direct := place
	direct.Direct = true
	n, in := notification("ntf_1"), input("inp_1")
	n.Place, in.Place = direct, direct
	s.update(func(tx approvals.Tx) error {
		return errors.Join(tx.PutNotification(n), tx.PutInput(in),
			tx.AppendSession(ws, direct, "run_1", json.RawMessage("[1]")),
			tx.AppendSession(ws, place, "run_1", json.RawMessage("[2]")))
	})
	for _, p := range []approvals.Place{place, direct} {
		s.view(func(tx approvals.Tx) error {
			outbox, err1 := tx.Notifications(ws, p, "", 10)
			inputs, err2 := tx.Inputs(ws, p, 10)
			chunks, older, err3 := tx.SessionTail(ws, p, 1000)
			same(s, fmt.Sprintf("notifications, direct %v", p.Direct), []*approvals.Notification{n}, outbox)
			same(s, fmt.Sprintf("inputs, direct %v", p.Direct), []*approvals.QueuedInput{in}, inputs)
			if len(chunks) != 1 || older != 0 {
				s.Errorf("direct %v: memory %s and %d older chunks", p.Direct, chunks, older)
			}
			return errors.Join(err1, err2, err3)
		})
	}
	s.update(func(tx approvals.Tx) error {
		n, in := notification("ntf_1"), input("inp_1")
		return errors.Join(tx.DeleteNotification(n), tx.DeleteInput(in), tx.DeleteSession(ws, place))
	})
	s.view(func(tx approvals.Tx) error {
		outbox, err1 := tx.Notifications(ws, direct, "", 10)
		inputs, err2 := tx.Inputs(ws, direct, 10)
		chunks, _, err3 := tx.SessionTail(ws, direct, 1000)
		if n := len(outbox) + len(inputs) + len(chunks); n != 0 {
			s.Errorf("%d records were not found again to delete them", n)
		}
		return errors.Join(err1, err2, err3)
	})
}

// lapsed lists runs that need a worker.
func (s *suite) lapsed(at time.Time, limit int) (list []approvals.RunKey) {
	s.Helper()
	s.view(func(tx approvals.Tx) (err error) {
		list, err = tx.LapsedLeases(at, at.Add(2*time.Hour), limit)
		return err
	})
	return list
}

func testLapsedLeases(s *suite) {
	at := now()
	put := func(id approvals.RunID, w approvals.WorkspaceID, status approvals.RunStatus,
		lease time.Time) approvals.RunKey {
		r := run(id, status)
		r.Workspace, r.LeaseUntil, r.Place.Thread = w, lease, string(id)
		s.update(func(tx approvals.Tx) error { return tx.PutRun(r) })
		return approvals.RunKey{Workspace: w, Run: id, Place: r.Place}
	}
	put("run_1", ws, approvals.RunWaiting, at.Add(-time.Hour))
	queued := put("run_2", ws, approvals.RunQueued, time.Time{})
	ended := put("run_3", ws, approvals.RunRunning, at)
	put("run_4", ws, approvals.RunRunning, at.Add(time.Microsecond))
	put("run_5", ws, approvals.RunDone, at.Add(-time.Hour))
	put("run_6", ws, approvals.RunFailed, at.Add(-time.Hour))
	put("run_7", ws, approvals.RunCancelled, time.Time{})
	earlier := put("run_8", ws, approvals.RunRunning, at.Add(-time.Hour))
	elsewhere := put("run_1", other, approvals.RunQueued, at.Add(time.Hour)) // of an earlier claim
	same(s, "runs without a worker", []approvals.RunKey{queued, ended, earlier, elsewhere}, s.lapsed(at, 10))
	same(s, "the first two", []approvals.RunKey{queued, ended}, s.lapsed(at, 2))
	same(s, "a little earlier", []approvals.RunKey{queued, earlier, elsewhere}, s.lapsed(at.Add(-time.Microsecond), 10))
	put("run_2", ws, approvals.RunRunning, at.Add(time.Minute)) // claimed
	put("run_3", ws, approvals.RunRunning, at.Add(time.Minute)) // renewed
	put("run_8", ws, approvals.RunDone, time.Time{})
	same(s, "after two have a worker and one has ended", []approvals.RunKey{elsewhere}, s.lapsed(at, 10))
	s.reopen()
	queued = put("run_2", ws, approvals.RunQueued, time.Time{})
	same(s, "after one was queued again", []approvals.RunKey{queued, elsewhere}, s.lapsed(at, 10))
	put("run_3", ws, approvals.RunRunning, at.Add(2*time.Hour))
	same(s, "after a long lease", []approvals.RunKey{queued, elsewhere}, s.lapsed(at, 10))
	ahead := put("run_3", ws, approvals.RunRunning, at.Add(2*time.Hour+time.Microsecond))
	put("run_8", ws, approvals.RunDone, at.Add(3*time.Hour))
	same(s, "after one that is too long", []approvals.RunKey{queued, ahead, elsewhere}, s.lapsed(at, 10))
}

func testLapsedCost(s *suite) {
	if s.harness.Scans {
		s.Skip("the store does not promise it")
	}
	put := func(prefix string, n int, status approvals.RunStatus) {
		s.update(func(tx approvals.Tx) error {
			for i := range n {
				r := run(approvals.RunID(fmt.Sprintf("%s_%05d", prefix, i)), status)
				r.Place.Thread, r.Ended = string(r.ID), now()
				if err := tx.PutRun(r); err != nil {
					return err
				}
			}
			return nil
		})
	}
	sweep := func() {
		if n := len(s.lapsed(now(), 20)); n != 20 {
			s.Fatalf("%d runs without a worker, want 20", n)
		}
	}
	put("run_m", 20, approvals.RunQueued)
	s.notDearer("looking for runs without a worker", sweep, func() {
		for i := range 6 {
			put(fmt.Sprint("run_a", i), 500, approvals.RunDone)
			put(fmt.Sprint("run_z", i), 500, approvals.RunCancelled)
		}
	})
}

func testEndedRuns(s *suite) {
	start := now()
	put := func(w approvals.WorkspaceID, id approvals.RunID, status approvals.RunStatus, minute int) {
		r := run(id, status)
		r.Workspace, r.Place.Thread, r.Ended = w, string(id), start.Add(time.Duration(minute)*time.Minute)
		s.update(func(tx approvals.Tx) error { return tx.PutRun(r) })
	}
	expect := func(minute, limit int, want ...approvals.RunID) {
		s.Helper()
		s.view(func(tx approvals.Tx) error {
			got, err := tx.EndedRuns(ws, start.Add(time.Duration(minute)*time.Minute), limit)
			same(s, fmt.Sprintf("ended before minute %d, at most %d", minute, limit), want, got)
			return err
		})
	}
	put(ws, "run_a", approvals.RunDone, 5)
	put(ws, "run_b", approvals.RunFailed, 1)
	put(ws, "run_c", approvals.RunCancelled, 3)
	put(ws, "run_d", approvals.RunWaiting, 0)
	put(ws, "run_e", approvals.RunRunning, 0)
	put(ws, "run_f", approvals.RunQueued, 0)
	put(other, "run_g", approvals.RunDone, 0)
	expect(9, 10, "run_b", "run_c", "run_a")
	expect(9, 2, "run_b", "run_c")
	expect(5, 10, "run_b", "run_c")
	expect(1, 10)
	put(ws, "run_b", approvals.RunFailed, 4)
	put(ws, "run_d", approvals.RunDone, 2)
	s.update(func(tx approvals.Tx) error { return tx.DeleteRun(ws, "run_c") })
	s.reopen()
	expect(9, 10, "run_d", "run_b", "run_a")
}

// putWhole puts a run with all that belongs to it, several of each.
func putWhole(tx approvals.Tx, id approvals.RunID, names ...string) error {
	r := run(id, approvals.RunQueued)
	r.Place.Thread = string(id)
	err := tx.PutRun(r)
	for i, name := range names {
		q, e := request(approvals.RequestID("req_"+name), approvals.RequestPending), effect("eff_"+name)
		q.Run, e.Run = id, id
		err = errors.Join(err, tx.PutRequest(q), tx.PutEffect(e), tx.PutState(ws, id, agent.Delta{
			Head: json.RawMessage(`{}`), From: i, Count: 1, Items: json.RawMessage(`[1]`)}))
	}
	return err
}

// traces counts what is left of a run, and of requests.
func traces(tx approvals.Tx, id approvals.RunID, names ...string) (int, error) {
	p := place
	p.Thread = string(id)
	ids := idsOf(names, func(name string) approvals.RequestID { return approvals.RequestID("req_" + name) })
	_, err1 := tx.Run(ws, id)
	_, err2 := tx.ActiveRun(ws, p)
	_, chunks, err3 := tx.State(ws, id)
	tail, _, err4 := tx.StateTail(ws, id, 1000)
	_, err5 := tx.Request(ws, ids[0])
	_, err6 := tx.RequestHead(ws, ids[0])
	_, err7 := tx.Effect(ws, id, "eff_"+names[0])
	n := len(chunks) + len(tail)
	for _, err := range []error{err1, err2, err3, err4, err5, err6, err7} {
		if err == nil {
			n++
		} else if !errors.Is(err, approvals.ErrNotFound) {
			return n, err
		}
	}
	whole, err1 := tx.Requests(ws, ids)
	ofRun, err2 := tx.RequestsOfRun(ws, id)
	effects, err3 := tx.EffectsOfRun(ws, id)
	return n + len(whole) + len(ofRun) + len(effects), errors.Join(err1, err2, err3)
}

func testDeleteRun(s *suite) {
	s.update(func(tx approvals.Tx) error {
		return errors.Join(everything(tx), putWhole(tx, "run_2", "a", "b", "c"), putWhole(tx, "run_20", "x", "y", "z"))
	})
	const whole = 7 + 3 + 3 + 3*3 // getters, chunks twice, lists
	const asked = 2 + 2*3         // of a deleted run: getters and lists of its requests
	count := func(id approvals.RunID, want int, names ...string) {
		s.Helper()
		s.view(func(tx approvals.Tx) error {
			n, err := traces(tx, id, names...)
			if n != want {
				s.Errorf("%d traces of %s, want %d", n, id, want)
			}
			return err
		})
	}
	count("run_2", whole, "a", "b", "c")
	s.update(func(tx approvals.Tx) error {
		err := tx.DeleteRun(ws, "run_2")
		if n, err2 := traces(tx, "run_2", "a", "b", "c"); err2 != nil || n != asked {
			s.Errorf("%d traces in the transaction that deletes, %v", n, err2)
		}
		return err
	})
	s.reopen()
	count("run_2", asked, "a", "b", "c")
	count("run_20", whole, "x", "y", "z")
	s.expect(true)
	s.view(func(tx approvals.Tx) error {
		active, err1 := tx.ActiveRuns(ws, "T1/U1", "")
		pending, err2 := tx.PendingOf(ws, "T1/U1")
		if active != 2 || pending != 7 {
			s.Errorf("%d active runs and %d pending requests are left, want 2 and 7", active, pending)
		}
		return errors.Join(err1, err2)
	})
	same(s, "requests that are left",
		[]approvals.RequestID{"req_1", "req_a", "req_b", "req_c", "req_x", "req_y", "req_z"},
		s.query(approvals.RequestQuery{Workspace: ws, Limit: 10}))
	s.update(func(tx approvals.Tx) error { return tx.DeleteRun(ws, "run_1") })
	s.expectOnly("audit head", "audit entry", "unsealed entry", "audit workspace", "input", "memory", "notification",
		"copy of notification", "dead letter", "undelivered place", "grant", "grants", "grants by id", "open grants",
		"event", "place with memory", "time of memory", "request", "requests by id", "head of request",
		"request of run", "request of runs", "callback", "installation", "installations")
}

// expectOnly checks that of everything these kinds are there, apart from runs that wait for a worker.
func (s *suite) expectOnly(kinds ...string) {
	s.Helper()
	s.view(func(tx approvals.Tx) error {
		there, _, err := found(tx, ws)
		others := []string{"run without worker", "runs", "pending request", "pending requests", "active runs"}
		there = slices.DeleteFunc(there, func(kind string) bool { return slices.Contains(others, kind) })
		slices.Sort(there)
		slices.Sort(kinds)
		same(s, "kinds of records that are left", kinds, there)
		return err
	})
}

func testEffects(s *suite) {
	e := filled[approvals.EffectRecord](1)
	e.Done, e.Output = time.Time{}, nil
	s.update(func(tx approvals.Tx) error { return tx.PutEffect(e) })
	e.Attempt, e.Output = 2, &agent.ToolOutput{Text: "done"}
	s.update(func(tx approvals.Tx) error { return tx.PutEffect(e) })
	s.view(func(tx approvals.Tx) error {
		got, err := tx.Effect(e.Workspace, e.Run, e.ID)
		same(s, "effect", []*approvals.EffectRecord{e}, []*approvals.EffectRecord{got})
		if _, err := tx.Effect(e.Workspace, "run_2", e.ID); !errors.Is(err, approvals.ErrNotFound) {
			s.Errorf("effect of another run: %v, want ErrNotFound", err)
		}
		return err
	})
}

func testEffectsOfRun(s *suite) {
	another := effect("eff_0")
	another.Run = "run_10"
	again := effect("eff_1")
	again.Attempt = 2
	s.update(func(tx approvals.Tx) error {
		return errors.Join(tx.PutEffect(effect("eff_2")), tx.PutEffect(effect("eff_1")), tx.PutEffect(another),
			tx.PutEffect(again))
	})
	s.view(func(tx approvals.Tx) error {
		list, err := tx.EffectsOfRun(ws, "run_1")
		got := idsOf(list, func(e *approvals.EffectRecord) string { return fmt.Sprint(e.ID, "/", e.Attempt) })
		same(s, "effects of the run", []string{"eff_1/2", "eff_2/1"}, got)
		return err
	})
}
