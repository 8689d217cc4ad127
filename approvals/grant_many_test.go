package approvals_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"countersign/approvals"
)

// TestRejectingGrantBehindManyOthers has more grants for a tool than can be given at one time, as there may be after
// the clock was set back. The one that rejects the call is the last to expire.
func TestRejectingGrantBehindManyOthers(t *testing.T) {
	t.Parallel()
	for _, others := range []int{98, 99, 100, 250} { // beside these there are two
		b, _, given := delayed(t)
		err := b.store.Update(t.Context(), func(tx approvals.Tx) error {
			g, err := tx.Grant(ws, given.ID)
			if err != nil {
				return err
			}
			for i := range others {
				allows := *g
				allows.ID = approvals.GrantID(fmt.Sprintf("grant_allows_%03d", i))
				err = errors.Join(err, tx.PutGrant(&allows))
			}
			rejects := *g
			rejects.ID, rejects.Deny, rejects.Expires = "grant_rejects", true, g.Expires.Add(time.Minute)
			return errors.Join(err, tx.PutGrant(&rejects))
		})
		if err != nil {
			t.Fatal(err)
		}
		paid := len(b.effects.all())
		id := b.tries(place, `{"amount":7}`)
		if n := len(b.effects.all()) - paid; n != 0 {
			t.Errorf("behind %d others: paid %d times under a grant", others, n)
		}
		if n := len(b.requests(id)); n != 0 {
			t.Errorf("behind %d others: %d questions", others, n)
		}
		b.stop()
	}
}
