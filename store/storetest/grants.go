package storetest

import (
	"errors"
	"fmt"
	"time"

	"countersign/approvals"
)

func grants() []promise {
	return []promise{
		{"Grant", "what people allowed is read again as they meant it, and a revocation is never lost", testGrant},
		{"GrantsByID", "what is known of several grants is read at once, and some of them may be gone", testGrantsByID},
		{"Grants", "whoever looks for a grant to revoke finds each of them once, also those that have ended",
			testGrants},
		{"OpenGrants", "a call is held against the grants for its tool that still count, and against no others",
			testOpenGrants},
		{"OpenGrantsCost", "grants that ended long ago do not slow down the calls of today", testOpenGrantsCost},
		{"GrantRace", "two calls at once must not both be the last use of a grant", testGrantRace},
	}
}

// grant is one that is open for an hour.
func grant(id approvals.GrantID) *approvals.Grant {
	return &approvals.Grant{
		Workspace: ws, ID: id, Scope: approvals.ScopeThread, Place: place, Run: "run_1", Agent: "ops", Tool: "pay",
		Created: now(), Expires: now().Add(time.Hour), Request: "req_1",
	}
}

func grantID(g *approvals.Grant) approvals.GrantID { return g.ID }

func testGrant(s *suite) {
	g := filled[approvals.Grant](1)
	for range 2 {
		s.update(func(tx approvals.Tx) error {
			err := tx.PutGrant(g)
			got, err2 := tx.Grant(g.Workspace, g.ID)
			same(s, "in the same transaction", []*approvals.Grant{g}, []*approvals.Grant{got})
			return errors.Join(err, err2)
		})
		s.reopen()
		s.view(func(tx approvals.Tx) error {
			got, err := tx.Grant(g.Workspace, g.ID)
			same(s, "after opening again", []*approvals.Grant{g}, []*approvals.Grant{got})
			if _, err := tx.Grant(g.Workspace, g.ID+"0"); !errors.Is(err, approvals.ErrNotFound) {
				s.Errorf("a grant that is not there: %v, want ErrNotFound", err)
			}
			return err
		})
		g.Used, g.Revoked, g.RevokedReason = g.Used+1, now(), "too wide"
	}
}

func testGrantsByID(s *suite) {
	another, over := grant("grant_2"), grant("grant_3")
	another.Workspace, over.Revoked = other, now()
	s.update(func(tx approvals.Tx) error {
		return errors.Join(tx.PutGrant(grant("grant_1")), tx.PutGrant(another), tx.PutGrant(over),
			tx.PutGrant(grant("grant_10")))
	})
	for _, c := range []struct{ ask, want []approvals.GrantID }{
		{[]approvals.GrantID{"grant_3", "grant_1"}, []approvals.GrantID{"grant_3", "grant_1"}},
		{[]approvals.GrantID{"grant_9", "grant_10", "", "grant_2"}, []approvals.GrantID{"grant_10"}},
		{[]approvals.GrantID{"grant_1", "grant_3", "grant_1"}, []approvals.GrantID{"grant_1", "grant_3", "grant_1"}},
		{[]approvals.GrantID{"grant_"}, nil},
		{nil, nil},
	} {
		s.view(func(tx approvals.Tx) error {
			list, err := tx.GrantsByID(ws, c.ask)
			same(s, fmt.Sprintf("grants %v", c.ask), c.want, idsOf(list, grantID))
			for _, g := range list {
				if g.Open() == (g.ID == "grant_3") || g.Tool != "pay" {
					s.Errorf("%s is another one than was put: %+v", g.ID, g)
				}
			}
			return err
		})
	}
}

func testGrants(s *suite) {
	another := grant("grant_2")
	another.Workspace = "T2"
	over := grant("grant_3")
	over.Revoked = now()
	s.update(func(tx approvals.Tx) error {
		return errors.Join(tx.PutGrant(over), tx.PutGrant(grant("grant_2")), tx.PutGrant(grant("grant_1")),
			tx.PutGrant(another), tx.PutGrant(grant("grant_20")))
	})
	s.view(func(tx approvals.Tx) error {
		all, err1 := tx.Grants(ws, "", 10)
		some, err2 := tx.Grants(ws, "grant_1", 2)
		rest, err3 := tx.Grants(ws, "grant_20", 2)
		gap, err4 := tx.Grants(ws, "grant_10", 1)
		same(s, "all", []approvals.GrantID{"grant_1", "grant_2", "grant_20", "grant_3"}, idsOf(all, grantID))
		same(s, "a page", []approvals.GrantID{"grant_2", "grant_20"}, idsOf(some, grantID))
		same(s, "the last page", []approvals.GrantID{"grant_3"}, idsOf(rest, grantID))
		same(s, "behind one that is not there", []approvals.GrantID{"grant_2"}, idsOf(gap, grantID))
		return errors.Join(err1, err2, err3, err4)
	})
}

func testOpenGrants(s *suite) {
	at := now()
	change := func(id approvals.GrantID, how func(g *approvals.Grant)) *approvals.Grant {
		g := grant(id)
		how(g)
		return g
	}
	all := []*approvals.Grant{
		change("grant_a", func(g *approvals.Grant) { g.Expires = at.Add(3 * time.Hour) }),
		change("grant_c", func(g *approvals.Grant) { g.Expires = at.Add(time.Hour) }),
		change("grant_b", func(g *approvals.Grant) { g.Expires = at.Add(time.Hour) }),
		change("grant_now", func(g *approvals.Grant) { g.Expires = at }),
		change("grant_next", func(g *approvals.Grant) { g.Expires = at.Add(time.Microsecond) }),
		change("grant_past", func(g *approvals.Grant) { g.Expires = at.Add(-time.Hour) }),
		change("grant_revoked", func(g *approvals.Grant) { g.Revoked = at }),
		change("grant_used", func(g *approvals.Grant) { g.Uses, g.Used = 2, 2 }),
		change("grant_half", func(g *approvals.Grant) { g.Uses, g.Used, g.Expires = 2, 1, at.Add(2*time.Hour) }),
		change("grant_agent", func(g *approvals.Grant) { g.Agent = "ops2" }),
		change("grant_tool", func(g *approvals.Grant) { g.Tool = "pay2" }),
		change("grant_elsewhere", func(g *approvals.Grant) { g.Workspace = "T2" }),
	}
	s.update(func(tx approvals.Tx) (err error) {
		for _, g := range all {
			err = errors.Join(err, tx.PutGrant(g))
		}
		return err
	})
	expect := func(what string, limit int, want ...approvals.GrantID) {
		s.Helper()
		s.view(func(tx approvals.Tx) error {
			open, err := tx.OpenGrants(ws, "ops", "pay", at, limit)
			same(s, what, want, idsOf(open, grantID))
			return err
		})
	}
	expect("open grants", 10, "grant_next", "grant_b", "grant_c", "grant_half", "grant_a")
	expect("the first", 2, "grant_next", "grant_b")
	s.update(func(tx approvals.Tx) error {
		half, c := all[8], all[1]
		half.Used, c.Revoked = 2, at
		return errors.Join(tx.PutGrant(half), tx.PutGrant(c))
	})
	expect("after one was used up and one revoked", 10, "grant_next", "grant_b", "grant_a")
	s.reopen()
	expect("after opening again", 10, "grant_next", "grant_b", "grant_a")
}

func testOpenGrantsCost(s *suite) {
	if s.harness.Scans {
		s.Skip("this store reads all grants to find the open ones; nobody keeps many in it")
	}
	list := func() {
		s.view(func(tx approvals.Tx) error {
			open, err := tx.OpenGrants(ws, "ops", "pay", now(), 10)
			same(s, "open grants", []approvals.GrantID{"grant_open"}, idsOf(open, grantID))
			return err
		})
	}
	s.update(func(tx approvals.Tx) error { return tx.PutGrant(grant("grant_open")) })
	s.notDearer("the list of open grants", list, func() {
		for page := range 4 {
			s.update(func(tx approvals.Tx) (err error) {
				for i := range 1000 {
					g := grant(approvals.GrantID(fmt.Sprintf("grant_%d_%d", page, i)))
					g.Expires = now().Add(-time.Duration(i) * time.Second)
					if i%2 == 0 {
						g.Expires, g.Revoked = now().Add(time.Hour), now()
					}
					err = errors.Join(err, tx.PutGrant(g))
				}
				return err
			})
		}
	})
}

func testGrantRace(s *suite) {
	g := grant("grant_1")
	g.Uses = 1
	s.update(func(tx approvals.Tx) error { return tx.PutGrant(g) })
	read, done := make(chan struct{}, 2), make(chan error, 2)
	errUsed := errors.New("used up")
	use := func(st approvals.Store, wait <-chan struct{}) {
		done <- st.Update(s.ctx, func(tx approvals.Tx) error {
			g, err := tx.Grant(ws, "grant_1")
			if err != nil || !g.Open() {
				return errors.Join(err, errUsed)
			}
			signal(read)
			settle(wait)
			g.Used++
			return tx.PutGrant(g)
		})
	}
	second := make(chan struct{}, 1)
	go use(s.store, second)
	await(s, "the first to read", read)
	go use(s.replica(), nil)
	settle(read) // in a store that lets both read
	signal(second)
	errs := []error{await(s, "one", done), await(s, "the other", done)}
	if (errs[0] == nil) == (errs[1] == nil) {
		s.Errorf("both, or neither, used the grant: %v", errs)
	}
}
