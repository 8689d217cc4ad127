package storetest

import (
	"errors"

	"countersign/agent"
	"countersign/approvals"
)

func callbacks() []promise {
	return []promise{
		{"Callback", "the token that was made last opens the callback, and those before it do not", testCallback},
		{"CallbackOfDeletedRequest", "no token outlives the request whose result it could provide",
			testCallbackOfDeletedRequest},
	}
}

// callback is the callback of a request with the n-th of its tokens.
func callback(id approvals.RequestID, n byte) *approvals.Callback {
	return &approvals.Callback{Workspace: ws, Request: id, Token: agent.Digest{n}, Issuer: "T1/U2", Issued: now()}
}

func (s *suite) expectCallback(w approvals.WorkspaceID, id approvals.RequestID, want *approvals.Callback) {
	s.Helper()
	s.view(func(tx approvals.Tx) error {
		got, err := tx.Callback(w, id)
		if want == nil {
			if !errors.Is(err, approvals.ErrNotFound) {
				s.Errorf("callback of %s in %s: %+v, %v", id, w, got, err)
			}
			return nil
		}
		same(s, "callback of "+string(id), []*approvals.Callback{want}, []*approvals.Callback{got})
		return err
	})
}

func testCallback(s *suite) {
	first, second, another := callback("req_1", 1), callback("req_1", 2), callback("req_11", 3)
	elsewhere := callback("req_1", 4)
	elsewhere.Workspace = other
	s.expectCallback(ws, "req_1", nil)
	s.update(func(tx approvals.Tx) error {
		return errors.Join(tx.PutCallback(first), tx.PutCallback(another), tx.PutCallback(elsewhere))
	})
	s.expectCallback(ws, "req_1", first)
	s.update(func(tx approvals.Tx) error { return tx.PutCallback(second) })
	err := s.store.Update(s.ctx, func(tx approvals.Tx) error {
		return errors.Join(tx.PutCallback(first), approvals.ErrConflict)
	})
	if !errors.Is(err, approvals.ErrConflict) {
		s.Errorf("update: %v", err)
	}
	s.reopen()
	s.expectCallback(ws, "req_1", second)
	s.expectCallback(ws, "req_11", another)
	s.expectCallback(other, "req_1", elsewhere)
}

func testCallbackOfDeletedRequest(s *suite) {
	kept := request("req_2", approvals.RequestPending)
	kept.Run = "run_2"
	s.update(func(tx approvals.Tx) error {
		return errors.Join(tx.PutRun(run("run_1", approvals.RunDone)), tx.PutRun(run("run_2", approvals.RunDone)),
			tx.PutRequest(request("req_1", approvals.RequestApproved)), tx.PutRequest(kept),
			tx.PutCallback(callback("req_1", 1)), tx.PutCallback(callback("req_2", 2)))
	})
	s.update(func(tx approvals.Tx) error { return tx.DeleteRequest(ws, "req_1") })
	s.reopen()
	s.expectCallback(ws, "req_1", nil)
	s.view(func(tx approvals.Tx) error {
		_, err := tx.Callback(ws, "req_2")
		return err
	})
}
