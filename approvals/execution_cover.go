package approvals

import (
	"context"
	"slices"
	"time"
)

// coverLate settles requests by standing answers that were given before they were asked: the answer came while the run
// was under way and had not heard of it. Requests whose own requirement the answer does not meet wait on.
func (x *execution) coverLate(ctx context.Context) error {
	pairs := x.uncovered()
	if len(pairs) == 0 {
		return nil
	}
	g := newGatherer(x.directory, x.policy, x.run.conversation(), time.Now())
	for _, p := range pairs {
		g.cover(ctx, p.answered, p.waiting)
	}
	err := x.write(ctx, func(c *txn, _ *Run) error {
		for _, p := range pairs {
			answered, err := c.request(p.answered.ID)
			if err != nil {
				return err
			}
			waiting, err := c.request(p.waiting.ID)
			if err != nil {
				return err
			}
			if waiting.Status == RequestPending && answered.Overruled == "" {
				if err := c.cover(answered, waiting, &g.facts); err != nil {
					return err
				}
			}
		}
		var err error
		x.requests, err = c.reread(x.requests)
		return err
	})
	if err != nil {
		return stored(err)
	}
	return nil
}

// pair is a standing answer and a request that waits for one.
type pair struct{ answered, waiting *Request }

// uncovered returns for each waiting request the newest standing answer about its tool.
func (x *execution) uncovered() (pairs []pair) {
	for _, o := range x.requests {
		if o.Status != RequestPending {
			continue
		}
		var newest *Request
		for _, r := range x.requests {
			if r.Overruled != "" || !r.forAll() || !r.about(o.Agent, o.Tool.Name, o.Definition) {
				continue
			}
			if newest == nil || r.laterThan(newest) {
				newest = r
			}
		}
		if newest != nil {
			pairs = append(pairs, pair{newest, o})
		}
	}
	return pairs
}

// laterThan reports whether r was settled later than o, where the records say no more than their times. Of two settled
// at the same time the rejection is later.
func (r *Request) laterThan(o *Request) bool {
	c := r.Settled.Compare(o.Settled)
	return c > 0 || c == 0 && rank(r) > rank(o)
}

// cover gathers what it takes to judge the answers to one request as answers to another.
func (g *gatherer) cover(ctx context.Context, answered, waiting *Request) {
	verdict := answered.Settler().Verdict.once()
	g.votes(ctx, verdict, answered.voters(verdict.Affirms()), []*Request{waiting})
}

// reread returns the requests with their heads as they are in this transaction.
func (c *txn) reread(all []*Request) ([]*Request, error) {
	fresh := slices.Clone(all)
	for i, r := range all {
		head, err := c.request(r.ID)
		if err != nil {
			return nil, err
		}
		fresh[i] = &Request{RequestHead: *head, RequestContent: r.RequestContent}
	}
	return fresh, nil
}
