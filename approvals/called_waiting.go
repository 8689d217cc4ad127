package approvals

import "slices"

const (
	// mostApart is how many requests one person is shown in a message each; when more wait for them, one message lists
	// all of them.
	mostApart = 3
	// mostListed is how many requests such a message names.
	mostListed = 20
	// mostSought is how many pending requests are looked at for it.
	mostSought = 2000
)

// needsList reports whether the entry of a person's queue is, or belongs to, a message that lists several requests:
// r, about which it is, is not shown to them yet, or is listed. alone says that r is in a message of its own.
func (n *Notification) needsList(r *RequestHead) (needs, alone bool) {
	if !n.Copy.of(copyPerson) || r == nil {
		return false, false
	}
	listed := slices.ContainsFunc(r.Cards, func(c Card) bool { return c.Copy == n.Copy && c.List })
	alone = slices.ContainsFunc(r.Cards, func(c Card) bool { return c.Copy == n.Copy && !c.List })
	return listed || r.Status == RequestPending && (n.Kind != NotifyCard || !alone), alone
}

// fillWaiting fills in what waits for the person whom the queue is for, in the entries that are about more than their
// own request.
func (q *queue) fillWaiting(tx Tx, page []*Notification) error {
	u, person := q.key.Copy.Person(q.key.Workspace)
	page = slices.DeleteFunc(slices.Clone(page), func(n *Notification) bool {
		if n.Card == nil {
			return true
		}
		needs, _ := n.needsList(&n.Card.RequestHead)
		return !needs
	})
	if !person || len(page) == 0 {
		return nil
	}
	ids, err := waitingFor(tx, q.key, u)
	if err != nil {
		return err
	}
	newest, err := tx.Requests(q.key.Workspace, ids[max(0, len(ids)-mostListed):])
	for _, n := range page {
		n.Waiting, n.WaitingAll = newest, len(ids)
	}
	return err
}

// waitingFor returns, by id, what waits for the person whom the copy is for.
func waitingFor(tx Tx, key CopyKey, u UserID) (ids []RequestID, err error) {
	query := RequestQuery{Workspace: key.Workspace, Status: RequestPending, Limit: maxPage, Newest: true}
	for seen := 0; seen < mostSought; seen += maxPage {
		heads, next, err := tx.QueryRequests(query)
		if err != nil {
			return nil, err
		}
		for _, r := range heads {
			if slices.Contains(r.Called.Copies, key.Copy) && r.decidedBy(u) == nil && !r.overdue(tx.Now()) {
				ids = append(ids, r.ID)
			}
		}
		if next == "" {
			break
		}
		query.After = next
	}
	slices.Sort(ids)
	return ids, nil
}

// Listing reports whether what n tells is to stand in a list of all that waits for the person, because there is more of
// it than they are shown one by one.
func (n *Notification) Listing() bool { return n.WaitingAll > mostApart }

// covers reports whether the delivery of n tells what o tells too: both are for the person whom a list is for, and the
// request of o is in it, or among those that it only counts.
func (n *Notification) covers(o *Notification) bool {
	if n.Copy.of(copyHome) { // one page shows all, and nothing is delivered of a request that is gone
		return n.Card != nil && o.Copy == n.Copy
	}
	if !n.Listing() || !o.Listing() || n.Copy != o.Copy || n.Kind != o.Kind {
		return false
	}
	_, alone := o.needsList(&o.Card.RequestHead)
	return !alone && (n.counts(o) || slices.ContainsFunc(n.Waiting, func(r *Request) bool { return r.ID == o.Request }))
}

// counts reports whether o is about a request that the list of n counts and does not name, because it is older than
// those that it names.
func (n *Notification) counts(o *Notification) bool {
	return n.WaitingAll > len(n.Waiting) && len(n.Waiting) > 0 && o.Request < n.Waiting[0].ID &&
		o.Card.Status == RequestPending
}
