package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"countersign/approvals"
	"countersign/internal/control"
	"countersign/internal/visible"
)

// setIDs takes each id once.
func (c *decideCommand) setIDs(cmd *cobra.Command, args []string) error {
	for _, id := range args {
		if id == "" {
			return misused("an empty text is no id of a request")
		}
		if !slices.Contains(c.IDs, approvals.RequestID(id)) {
			c.IDs = append(c.IDs, approvals.RequestID(id))
		}
	}
	if len(c.IDs) == 0 {
		return misused("%s needs a request's id", cmd.CommandPath())
	}
	return nil
}

// several refuses what cannot be said of several requests at once.
func (c *decideCommand) several(v approvals.Verdict) error {
	switch {
	case c.Always || v != approvals.Approve && v != approvals.Reject:
		return misused("several requests can be answered with --approve or --reject; answer the others one by one")
	case c.For != "":
		return misused("--for does not go with several requests; answer for somebody else one by one")
	case c.Digest != "":
		return misused("--digest is of one request; it does not go with several")
	}
	return nil
}

// decideAll answers several requests, and says of each what became of it.
func (c *decideCommand) decideAll(
	ctx context.Context, p *Program, desk control.Desk, verdict approvals.Verdict,
) error {
	batches, failed, err := c.batches(ctx, desk, verdict)
	if err != nil {
		return err
	}
	for _, b := range batches {
		answers, err := desk.DecideAll(ctx, b)
		if err != nil {
			c.complainOf(p, failed)
			return err
		}
		for _, a := range answers {
			if a.Err != nil {
				failed = append(failed, explain(a, verdict))
			} else if err := c.say(p, a.Request); err != nil {
				return err
			}
		}
	}
	if len(failed) == 0 {
		return nil
	}
	c.complainOf(p, failed)
	p.complain(fmt.Errorf("%d of %d not decided", len(failed), len(c.IDs)))
	return errSilent
}

// complainOf says why requests were not decided.
func (c *decideCommand) complainOf(p *Program, failed []error) {
	for _, err := range failed {
		p.complain(err)
	}
}

// explain says why a request was not decided. The error names it.
func explain(a approvals.BatchAnswer, verdict approvals.Verdict) error {
	err := a.Err
	if a.Request != nil && !errors.Is(err, approvals.ErrInvalid) {
		err = explainDecision(a.Request, err, &a.Request.RequestHead, verdict)
	}
	if !strings.Contains(err.Error(), string(a.ID)) {
		err = fmt.Errorf("%s: %w", a.ID, err)
	}
	return err
}

// batches reads the requests, and sorts them by workspace.
func (c *decideCommand) batches(ctx context.Context, desk control.Desk, verdict approvals.Verdict) (
	all []approvals.Batch, failed []error, err error,
) {
	for _, id := range c.IDs {
		r, err := desk.Request(ctx, id)
		if errors.Is(err, approvals.ErrNotFound) {
			failed = append(failed, err)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		i := slices.IndexFunc(all, func(b approvals.Batch) bool { return b.Workspace == r.Workspace })
		if i < 0 {
			i, all = len(all), append(all, approvals.Batch{
				Workspace: r.Workspace, By: approvals.NewUserID(r.Workspace, c.As), Verdict: verdict, Reason: c.Reason,
			})
		}
		all[i].Requests = append(all[i].Requests, approvals.BatchItem{Request: r.ID, Digest: r.Digest})
	}
	return all, failed, nil
}

// say prints how a request stands after the answer.
func (c *decideCommand) say(p *Program, r *approvals.Request) error {
	if c.JSON {
		return newEncoder(p.Stdout).Encode(r.Mask())
	}
	for _, line := range append([]string{c.standsNow(&r.RequestHead)}, voided(&r.RequestHead)...) {
		if _, err := fmt.Fprintln(p.Stdout, visible.Line(line)); err != nil {
			return err
		}
	}
	return nil
}
