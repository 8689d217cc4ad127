package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"

	"countersign/approvals"
	"countersign/internal/app"
	"countersign/internal/catalog"
	"countersign/internal/control"
	"countersign/internal/policycheck"
)

// recorded is the part of a command that reads what people were asked.
type recorded struct {
	query control.Query
	File  string
	JSON  bool
}

func (c *recorded) flags(f *pflag.FlagSet, file string) {
	f.SortFlags = false
	f.Func("since", "only requests made at the `TIME` or later (needed)", instant(&c.query.Since))
	f.Func("until", "only requests made before the `TIME`", instant(&c.query.Until))
	f.Func("tool", "only calls of the tool `NAME`", given(&c.query.Tool))
	f.Func("agent", "only calls by the agent `NAME`", given(&c.query.Agent))
	f.StringVar(&c.File, "file", "", file)
	f.BoolVar(&c.JSON, "json", false, "print JSON")
}

// check refuses what can read nothing.
func (c *recorded) check() error {
	q := &c.query
	switch {
	case q.Since.IsZero():
		return misused("--since is needed: a date and time as in RFC 3339, or how long ago, such as 30d")
	case !q.Until.IsZero() && !q.Since.Before(q.Until):
		return misused("--since (%s) is not before --until (%s): no request can match",
			q.Since.Format(time.RFC3339), q.Until.Format(time.RFC3339))
	}
	return nil
}

// tried is the agents file that is tried out.
type tried struct {
	catalog *catalog.Catalog
	trial   control.Trial // of no request
}

// agents reads the agents file that is tried out.
func (c *recorded) agents(p *Program) (*tried, error) {
	cfg, err := app.ReadConfig()
	if err != nil {
		return nil, err
	}
	if c.File != "" {
		cfg.UseAgents(c.File)
	}
	t := &tried{trial: control.Trial{Name: cfg.Agents, Environment: make(map[string]string)}}
	file, err := cfg.ReadAgents(func(name string) (string, bool) {
		value, ok := os.LookupEnv(name)
		if ok {
			t.trial.Environment[name] = value
		}
		return value, ok
	})
	if err != nil {
		return nil, err
	}
	t.trial.Text = string(file.Source)
	servers := catalog.NewServers(app.BuildVersion().Version, cfg.Logger(p.Stderr)) // none is contacted
	t.catalog, err = catalog.Build(file, catalog.Config{Functions: p.Tools, Model: catalog.NoModel, Servers: servers})
	return t, app.Misconfigured(err)
}

// judge says what the file makes of a request. Where that has secret values, which commands are not given, the desk
// judges.
func (t *tried) judge(ctx context.Context, desk control.Desk, r *approvals.Request) (policycheck.Verdict, error) {
	if len(r.Withheld()) == 0 {
		return policycheck.Judge(ctx, t.catalog, r)
	}
	trial := t.trial
	trial.Request = r.ID
	j, err := desk.Judgement(ctx, trial)
	return policycheck.Verdict{Fate: policycheck.Fate(j.Fate), Requirement: j.Requirement, Why: j.Why}, err
}

// progressEvery is after how many requests a command says how far it is.
const progressEvery = 1000

// walk hands every request that want lets through to yield, with its arguments, secret ones masked, oldest first, one
// after the other: no more than a page of their heads is in memory. A request that was deleted meanwhile is left out.
func (c *recorded) walk(
	ctx context.Context, p *Program, want func(*approvals.RequestHead) bool,
	yield func(control.Desk, *approvals.Request) error,
) error {
	desk, err := p.desk(ctx)
	if err != nil {
		return err
	}
	defer desk.Close()
	list := &listCommand{query: c.query}
	read := 0
	return list.walk(ctx, desk, func(head *approvals.RequestHead) error {
		if read++; read%progressEvery == 0 {
			fmt.Fprintf(p.Stderr, "countersign: %d requests read, up to %s\n", read,
				head.Created.UTC().Format(time.DateOnly))
		}
		if !want(head) {
			return nil
		}
		r, err := desk.Request(ctx, head.ID)
		if errors.Is(err, approvals.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return yield(desk, r)
	})
}

// fileName is what messages call the agents file.
func (c *recorded) fileName() string {
	if c.File != "" {
		return c.File
	}
	if name := os.Getenv("COUNTERSIGN_AGENTS"); name != "" {
		return name
	}
	return "countersign.yaml"
}
