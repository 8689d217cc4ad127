package approvals

import (
	"errors"
	"slices"
)

// maxWhy bounds what a dead letter says about why it is one, in characters.
const maxWhy = 300

// bury makes n a dead letter. A request stays decidable by command, and in the lists of those who may decide it. Once,
// that is told where somebody reads it: what a person, or another channel, could not be shown, in the run's own place;
// a card that its own place does not take, there; and nobody, where nothing can be delivered.
func (c *txn) bury(n *Notification, why error) error {
	told, err := c.loses(n)
	if err != nil {
		return err
	}
	n.Dead, n.Why = c.Now(), shortened(why.Error(), maxWhy)
	n.Owner, n.LeaseUntil = "", noTime
	if err := c.PutNotification(n); err != nil {
		return err
	}
	err = c.audit(entry{
		Action: AuditUndeliverable, Actor: system, Run: n.Run, Request: n.Request,
		Data: auditData{Kind: string(n.Kind)},
	})
	if err != nil || n.Kind != NotifyCard {
		return err
	}
	if err := c.lose(n); err != nil || told || n.Copy == "" && errors.Is(why, ErrUnreachable) {
		return err
	}
	r, err := c.request(n.Request)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil || r.Status != RequestPending {
		return err
	}
	c.notify(unshown(n, r))
	return nil
}

// lose has a request that waits call nobody by a copy any more that cannot be delivered to them. A dead letter that is
// sent again shows the request all the same.
func (c *txn) lose(n *Notification) error {
	if n.Copy == "" {
		return nil
	}
	r, err := c.request(n.Request)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil || slices.ContainsFunc(r.Cards, func(at Card) bool { return at.Copy == n.Copy }) {
		return err
	}
	r.Called.Copies = without(r.Called.Copies, []Copy{n.Copy})
	c.touched(r)
	return nil
}

// unshown says in the run's own place that the card n of r was given up. Of the copies that have an audience of their
// own, only those for a person name it.
func unshown(n *Notification, r *RequestHead) *Notification {
	tool, how := r.Tool.Name, wordsAnswerByCommand(r.ID)
	notice := &Notification{Kind: NotifyNotice, Place: r.Place, Run: n.Run, Text: wordsNotShownHere(tool, how)}
	if n.Copy == "" {
		return notice
	}
	notice.Text = wordsNotShownToAll(tool, how)
	if person, ok := n.Copy.Person(n.Workspace); ok {
		notice.By, notice.Text = person, wordsNotReached(tool, how)
	}
	return notice
}

// lostCard is a card that is a dead letter.
type lostCard struct {
	request RequestID
	copy    Copy
}

// loses notes that n becomes a dead letter, and reports whether an earlier card of the same request for the same people
// is one. The dead letters are read once, however many become some.
func (c *txn) loses(n *Notification) (before bool, err error) {
	if n.Kind != NotifyCard {
		return false, nil
	}
	lost, err := c.lostCards()
	if err != nil {
		return false, err
	}
	card := lostCard{n.Request, n.Copy}
	before, lost[card] = lost[card], true
	return before, nil
}

// lostCards returns the cards that are dead letters, with those that become some in this transaction.
func (c *txn) lostCards() (map[lostCard]bool, error) {
	if c.lost != nil {
		return c.lost, nil
	}
	lost := make(map[lostCard]bool)
	var after NotificationID
	for {
		page, err := c.DeadLetters(c.ws, after, maxPage)
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			c.lost = lost
			return lost, nil
		}
		for _, o := range page {
			if o.Kind == NotifyCard {
				lost[lostCard{o.Request, o.Copy}] = true
			}
			after = o.ID
		}
	}
}
