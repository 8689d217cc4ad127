package testrun

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"countersign/approvals"
	"countersign/internal/testfile"
)

// Play plays one test in a world of its own. An error, which may be an ErrConfig, means that it could not be played;
// whatever was not as expected is in the result.
func Play(ctx context.Context, cfg Config, f *testfile.File, t *testfile.Test) (result *Result, err error) {
	began := time.Now()
	w, err := newWorld(ctx, cfg, f, t)
	defer func() { err = errors.Join(err, w.Close()) }()
	if err != nil {
		return nil, err
	}
	p := &play{world: w, requests: make(map[string]approvals.RequestID), threads: make(map[string]*thread),
		seen: make(map[string]bool), ofCard: make(map[approvals.RequestID]bool)}
	result = &Result{File: f.Path, Name: t.Name}
	result.Failures, err = p.all(ctx)
	if err != nil {
		return nil, err
	}
	result.Transcript, result.Took = p.transcript(ctx), time.Since(began)
	return result, nil
}

// play is a test under way.
type play struct {
	*world
	requests map[string]approvals.RequestID // by the names of their cards
	ofCard   map[approvals.RequestID]bool   // that have a name
	threads  map[string]*thread
	seen     map[string]bool // messages of the bot that a step has dealt with
	told     []runEnd        // ends of runs that a step has stated
	lines    []string        // what was done, for the transcript

	step    *testfile.Step
	name    string
	thread  *thread
	entries int    // of the audit trail, when the step began
	output  string // of cli
	exit    int
	sent    string // the form that the step's click opened, once it was sent
}

// thread is where something was said.
type thread struct {
	channel, ts string
	run         approvals.RunID
}

// runEnd is a run that a step has said something about.
type runEnd struct {
	run  approvals.RunID
	word string
}

// all plays the steps up to the first that fails, and then looks at what is left.
func (p *play) all(ctx context.Context) ([]Failure, error) {
	for i := range p.test.Steps {
		failures, err := p.one(ctx, i)
		if err != nil || len(failures) > 0 {
			return failures, err
		}
	}
	return p.finish(ctx)
}

// one plays a step and waits for what must come of it.
func (p *play) one(ctx context.Context, i int) ([]Failure, error) {
	p.step = &p.test.Steps[i]
	p.name = fmt.Sprintf("step %d, %s", i+1, p.describe())
	p.lines = append(p.lines, fmt.Sprintf("line %d: %s", p.step.At.Line, p.name))
	trail, err := p.trail(ctx)
	if err != nil {
		return nil, err
	}
	p.entries, p.output, p.exit, p.sent = len(trail), "", 0, ""
	p.receipts.begin(p.step, p.name)
	patience := p.cfg.Timeout
	if p.step.Restart != "" {
		patience = max(patience, minStart)
	}
	acting, cancel := context.WithTimeout(ctx, patience)
	failures, err := p.act(acting)
	cancel()
	if err != nil || len(failures) > 0 {
		return append(failures, p.violations.all()...), err
	}
	return p.await(ctx)
}

// await waits until everything that the step expects has come, or until something is wrong for good.
func (p *play) await(ctx context.Context) ([]Failure, error) {
	began := time.Now()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		failures, err := p.look(ctx)
		if dead := p.dead(); err != nil || len(dead) > 0 {
			return dead, onlyIf(len(dead) == 0, err)
		}
		waited := time.Since(began)
		wrong := p.violations.all()
		switch {
		case len(wrong) > 0:
			return wrong, nil
		case len(failures) == 0:
			return p.surplus(), nil
		case waited > p.cfg.Timeout:
			for i := range failures {
				failures[i].Waited = waited.Round(100 * time.Millisecond)
			}
			return failures, nil
		}
		select {
		case <-tick.C:
		case <-p.bot.Exited(): // and looked at once more
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// dead says that the bot has ended though nobody ended it. Its store may not be readable at that moment.
func (p *play) dead() []Failure {
	select {
	case <-p.bot.Exited():
		return []Failure{p.failure("the bot", "that it runs", "it has ended\n"+p.program().LogTail())}
	default:
		return nil
	}
}

func onlyIf(holds bool, err error) error {
	if holds {
		return err
	}
	return nil
}

// pollEvery is how often the store and the workspace are looked at.
const pollEvery = 20 * time.Millisecond

// failure is about the step under way.
func (p *play) failure(what, expected, got string) Failure {
	return Failure{At: p.step.At, Step: p.name, What: what, Expected: expected, Got: got}
}

// describe says what the step does.
func (p *play) describe() string {
	s := p.step
	switch {
	case s.Mention != "":
		return fmt.Sprintf("mention by %s: %q", s.By, s.Mention)
	case s.Message != "":
		return fmt.Sprintf("message by %s: %q", s.By, s.Message)
	case s.Click != "":
		return fmt.Sprintf("click %s by %s on %s", s.Click, s.By, s.Card)
	case s.Command != "":
		return fmt.Sprintf("%s by %s", s.Command, s.By)
	case len(s.CLI) > 0:
		return "countersign " + strings.Join(s.CLI, " ")
	case s.Restart != "":
		return "restart (" + s.Restart + ")"
	case s.Callback != nil:
		return "callback for " + s.Card
	case s.Change != nil:
		return "change of the workspace"
	case s.Card != "":
		return "card " + s.Card
	}
	return "expectation"
}
