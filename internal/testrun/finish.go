package testrun

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"countersign/approvals"
	"countersign/internal/control"
	"countersign/internal/testfile"
)

// finish waits until nothing moves, stops the bot, and looks at what is left that no step has spoken of.
func (p *play) finish(ctx context.Context) ([]Failure, error) {
	p.step, p.name = &testfile.Step{At: p.test.At}, "the end of the test"
	p.receipts.begin(p.step, p.name)
	if failures, err := p.settle(ctx); err != nil || len(failures) > 0 {
		return failures, err
	}
	failures := p.surplus()
	if err := p.bot.Stop(); err != nil {
		failures = append(failures, p.failure("the bot", "to stop in order", err.Error()))
	}
	failures = append(failures, p.violations.all()...)
	failures = append(failures, p.script.unused()...)
	for _, look := range []func(context.Context) ([]Failure, error){p.leftRuns, p.leftRequests, p.verify} {
		f, err := look(ctx)
		if err != nil {
			return nil, err
		}
		failures = append(failures, f...)
	}
	return failures, nil
}

// quiet is how long nothing may change before a test counts as over.
const quiet = 150 * time.Millisecond

// settle waits until every run has ended or waits for people, and the workspace has not changed for a while.
func (p *play) settle(ctx context.Context) ([]Failure, error) {
	began, since, before := time.Now(), time.Now(), -1
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		trail, err := p.trail(ctx)
		if err != nil {
			return nil, err
		}
		calls := len(p.workspace.Calls()) + len(trail)
		if busy := working(trail); calls != before || busy != "" {
			since, before = time.Now(), calls
			if time.Since(began) > p.cfg.Timeout {
				f := p.failure("the runs", "to end, or to wait for people", "a run is still "+busy)
				f.Waited = time.Since(began).Round(100 * time.Millisecond)
				return []Failure{f}, nil
			}
		}
		if time.Since(since) > quiet {
			return nil, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// working says what a run does that has not ended and does not wait; "" when there is none.
func working(trail []*approvals.AuditEntry) string {
	for _, run := range runs(trail) {
		if word := runOf(trail, run); !slices.Contains(testfile.RunWords, word) && word != "refused" {
			return word
		}
	}
	return ""
}

// runs are those of a trail in their order.
func runs(trail []*approvals.AuditEntry) (ids []approvals.RunID) {
	for _, e := range trail {
		if e.Action == approvals.AuditRunSubmitted {
			ids = append(ids, e.Run)
		}
	}
	return ids
}

// leftRuns are runs that failed or were cancelled though no step said so.
func (p *play) leftRuns(ctx context.Context) (failures []Failure, err error) {
	trail, err := p.trail(ctx)
	if err != nil {
		return nil, err
	}
	for _, run := range runs(trail) {
		word := runOf(trail, run)
		stated := slices.Contains(p.told, runEnd{run, word})
		if (word == "failed" || word == "cancelled") && !stated {
			failures = append(failures, p.failure("the runs", "done, or a step that expects run: "+word, word))
		}
	}
	return failures, nil
}

// leftRequests are requests that wait though the test does not say so, and the other way round.
func (p *play) leftRequests(ctx context.Context) (failures []Failure, err error) {
	heads, err := p.heads(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range heads {
		name := "which has no card in any step"
		for n, id := range p.requests {
			if id == r.ID {
				name = n
			}
		}
		left, waits := slices.Contains(p.test.LeftWaiting, name), r.Status == approvals.RequestPending
		what := fmt.Sprintf("the request for %s, %s", r.Tool.Name, name)
		switch {
		case !p.ofCard[r.ID]:
			failures = append(failures, p.failure(what, "a card of a step", string(r.Status)))
		case waits && !left:
			failures = append(failures, p.failure(what, "to be decided, or listed in left_waiting",
				"nobody decided it"))
		case !waits && left:
			failures = append(failures, p.failure(what, "to be waiting: it is in left_waiting", string(r.Status)))
		}
	}
	return failures, nil
}

// verify recomputes the audit trail, and looks for what could not be delivered.
func (p *play) verify(ctx context.Context) (failures []Failure, err error) {
	err = p.read(ctx, func(desk control.Desk) error {
		_, err := desk.VerifyAudit(ctx, approvals.VerifyOptions{})
		if broken, ok := errors.AsType[*approvals.AuditError](err); ok {
			failures = append(failures, p.failure("the audit trail", "to verify", broken.Error()))
		} else if err != nil {
			return err
		}
		letters, _, err := desk.DeadLetters(ctx, control.Cursor{}, 1)
		if len(letters) > 0 {
			failures = append(failures, p.failure("notifications", "to be delivered", "some were given up: see "+
				"outbox list"))
		}
		return err
	})
	return failures, err
}

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// transcript tells what happened, as the workspace, the servers, the model and the store have it.
func (p *play) transcript(ctx context.Context) string {
	var b strings.Builder
	part := func(title string, lines []string) {
		if len(lines) == 0 {
			return
		}
		fmt.Fprintf(&b, "%s\n", title)
		for _, line := range lines {
			for l := range strings.SplitSeq(strings.TrimSpace(line), "\n") {
				fmt.Fprintf(&b, "  %s\n", l)
			}
		}
	}
	part("Steps:", p.lines)
	for _, name := range keys(p.file.Channels) {
		part("#"+name+":", p.talk(p.workspace.Messages(p.file.Channels[name].ID)))
	}
	for _, name := range keys(p.file.People) {
		id := p.file.People[name].ID
		part("Direct messages with "+name+":", p.talk(p.workspace.Messages(p.workspace.DM(id))))
		part("Only "+name+" sees:", p.talk(p.workspace.Ephemerals(id)))
	}
	part("The model:", p.script.transcript())
	var calls []string
	for _, r := range p.receipts.list() {
		calls = append(calls, fmt.Sprintf("%s: %s (%s)", r.server, r, r.step))
	}
	part("The servers received:", calls)
	if trail, err := p.trail(ctx); err == nil {
		var lines []string
		for _, e := range trail {
			lines = append(lines, p.entryLine(e))
		}
		part("The audit trail:", lines)
	}
	return b.String()
}
