package storetest

import (
	"errors"

	"countersign/approvals"
)

func installations() []promise {
	return []promise{
		{"Installation", "a workspace is spoken to with the token that it gave last, and with no other's",
			testInstallation},
		{"Installations", "a start finds every workspace that has the app, each once", testInstallations},
	}
}

// installation is the app in a workspace, with its n-th token.
func installation(w approvals.WorkspaceID, token approvals.BotToken) *approvals.Installation {
	return &approvals.Installation{
		Workspace: w, Team: string(w), BotUser: "U0BOT", Token: token, By: approvals.NewUserID(w, "U1"),
		Scopes: []string{"chat:write"}, Installed: now(),
	}
}

func (s *suite) expectInstallation(w approvals.WorkspaceID, want *approvals.Installation) {
	s.Helper()
	s.view(func(tx approvals.Tx) error {
		got, err := tx.Installation(w)
		if want == nil {
			if !errors.Is(err, approvals.ErrNotFound) {
				s.Errorf("installation in %s: %+v, %v", w, got, err)
			}
			return nil
		}
		same(s, "installation in "+string(w), []*approvals.Installation{want}, []*approvals.Installation{got})
		return err
	})
}

func testInstallation(s *suite) {
	first, second := installation(ws, "xoxb-1"), installation(ws, "xoxb-2")
	elsewhere := installation(other, "xoxb-3")
	s.expectInstallation(ws, nil)
	s.update(func(tx approvals.Tx) error {
		return errors.Join(tx.PutInstallation(first), tx.PutInstallation(elsewhere))
	})
	s.expectInstallation(ws, first)
	s.update(func(tx approvals.Tx) error { return tx.PutInstallation(second) })
	err := s.store.Update(s.ctx, func(tx approvals.Tx) error {
		return errors.Join(tx.PutInstallation(first), approvals.ErrConflict)
	})
	if !errors.Is(err, approvals.ErrConflict) {
		s.Errorf("update: %v", err)
	}
	s.expectInstallation(ws, second)
	ended := installation(ws, "")
	ended.Scopes, ended.Ended, ended.Why = nil, now(), "app_uninstalled"
	s.update(func(tx approvals.Tx) error { return tx.PutInstallation(ended) })
	s.reopen()
	s.expectInstallation(ws, ended)
	s.expectInstallation(other, elsewhere)
}

func testInstallations(s *suite) {
	list := func(after approvals.WorkspaceID, limit int) (ids []approvals.WorkspaceID) {
		s.Helper()
		s.view(func(tx approvals.Tx) error {
			page, err := tx.Installations(after, limit)
			ids = idsOf(page, func(i *approvals.Installation) approvals.WorkspaceID { return i.Workspace })
			return err
		})
		return ids
	}
	same(s, "installations of an empty store", nil, list("", 10))
	s.update(func(tx approvals.Tx) error {
		for _, w := range []approvals.WorkspaceID{"T2", "T10", "E1", "T1"} {
			if err := tx.PutInstallation(installation(w, "xoxb-1")); err != nil {
				return err
			}
		}
		return tx.PutInstallation(installation("T10", "xoxb-2"))
	})
	s.reopen()
	same(s, "all", []approvals.WorkspaceID{"E1", "T1", "T10", "T2"}, list("", 10))
	same(s, "the first page", []approvals.WorkspaceID{"E1", "T1"}, list("", 2))
	same(s, "the page behind it", []approvals.WorkspaceID{"T10", "T2"}, list("T1", 2))
	same(s, "behind one that is not there", []approvals.WorkspaceID{"T2"}, list("T11", 2))
	same(s, "behind the last", nil, list("T2", 2))
	same(s, "none", nil, list("", 0))
}
