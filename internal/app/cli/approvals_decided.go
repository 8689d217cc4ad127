package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"countersign/approvals"
	"countersign/internal/control"
	"countersign/internal/visible"
)

// conclude says what a recorded answer has come to: how the request stands, what becomes of its call, which answers
// count no longer, and which other requests a standing answer has settled.
func (c *decideCommand) conclude(ctx context.Context, p *Program, desk control.Desk, r *approvals.Request) error {
	lines := append([]string{c.standsNow(&r.RequestHead)}, voided(&r.RequestHead)...)
	covered, err := coveredBy(ctx, desk, &r.RequestHead)
	if err != nil {
		p.complain(fmt.Errorf("the answer is recorded; "+
			"which other waiting calls it settles could not be read: %w", err))
	}
	if len(covered) > 0 {
		lines = append(lines, fmt.Sprintf("It settles other waiting calls of %s too: %s.", r.Tool.Name,
			strings.Join(covered, ", ")))
	}
	made, err := c.madeGrant(ctx, desk, r)
	if err != nil {
		p.complain(fmt.Errorf("the answer is recorded; whether it made a grant could not be read: %w", err))
	}
	lines = append(lines, made...)
	for _, line := range lines {
		if _, err := fmt.Fprintln(p.Stdout, visible.Line(line)); err != nil {
			return err
		}
	}
	return nil
}

// madeGrant names the grant that the answer has made, if it gave the terms of one and has settled the request.
func (c *decideCommand) madeGrant(ctx context.Context, desk control.Desk, r *approvals.Request) ([]string, error) {
	d := r.Settler()
	if d == nil || d.Grant == nil || d.By.Local() != c.As {
		return nil, nil
	}
	var made *approvals.GrantView
	err := (&grantsListCommand{All: true}).walk(ctx, desk, func(g *approvals.GrantView) error {
		if g.Request == r.ID {
			made = g
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case made == nil:
		return []string{"No grant was made: those who answered did not ask for the same."}, nil
	}
	return []string{fmt.Sprintf("%s is for %s, until %s.", made.ID, made.Terms(),
		made.Expires.UTC().Format(time.RFC3339))}, nil
}

// standsNow says how the request stands after the answer.
func (c *decideCommand) standsNow(r *approvals.RequestHead) string {
	if r.Status == approvals.RequestPending {
		return fmt.Sprintf("%s is pending: the answer of %s is recorded, and others still have to answer. "+
			"It needs %s; so far %s.", r.ID, c.As, r.Requirement.Describe(), agreed(r))
	}
	text := fmt.Sprintf("%s is %s.", r.ID, statusLine(r))
	if r.Note != "" {
		text += " " + r.Note
	}
	return text + " " + callSentence(r)
}

// agreed counts the people whose agreement counts.
func agreed(r *approvals.RequestHead) string {
	people := make(map[approvals.UserID]bool)
	for _, d := range r.Decisions {
		if d.Void == "" && d.Verdict.Affirms() {
			people[d.By] = true
		}
	}
	switch len(people) {
	case 0:
		return "nobody has agreed"
	case 1:
		return "1 person has agreed"
	}
	return fmt.Sprintf("%d people have agreed", len(people))
}

// voided says which answers count no longer, and why.
func voided(r *approvals.RequestHead) (lines []string) {
	for _, d := range r.Decisions {
		if d.Void != "" {
			lines = append(lines, fmt.Sprintf("The answer of %s counts no longer: %s.", decider(d), d.Void))
		}
	}
	return lines
}

// coveredBy lists the requests that a standing answer to r has settled.
func coveredBy(ctx context.Context, desk control.Desk, r *approvals.RequestHead) (ids []string, err error) {
	d := r.Settler()
	if d == nil || d.Verdict != approvals.AlwaysApprove && d.Verdict != approvals.AlwaysReject {
		return nil, nil
	}
	list := &listCommand{query: control.Query{Run: r.Run, Tool: r.Tool.Name, Status: r.Status}}
	err = list.walk(ctx, desk, func(o *approvals.RequestHead) error {
		if a := o.Standing(); a != nil && a.Request == r.ID {
			ids = append(ids, string(o.ID))
		}
		return nil
	})
	return ids, err
}
