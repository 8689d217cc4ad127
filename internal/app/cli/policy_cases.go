package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"countersign/internal/agentsfile"
	"countersign/internal/app"
	"countersign/internal/catalog"
	"countersign/internal/policycheck"
	"countersign/internal/visible"
)

type policyTestCommand struct {
	File, Agents string
	JSON         bool
}

// command is the command line's view of it.
func (c *policyTestCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test FILE",
		Short: "Compare what the policies say about calls with what you expect",
		Long: `Compare what the agents file's gates and policies say about the calls in FILE with what FILE expects.

Nothing is run, and neither Slack nor a model or an MCP server is contacted. Variables of the environment that the
agents file uses must be set, or have a value under "environment" in FILE: no secret is needed. The exit code is 1 when
a case is not as expected. A file of cases:

  version: 1
  environment: { PAYMENTS_TOKEN: none }
  cases:
    - name: large payments need two people
      tool: transfer_funds
      arguments: { amount: 5000, to: acme }
      expect: { policy: money, quorum: 2, self_approval: false }
    - name: small ones run at once
      tool: transfer_funds
      arguments: { amount: 5, to: acme }
      expect: { asked: false }`,
		Example: "  countersign policy test cases.yaml\n" +
			"  countersign policy test cases.yaml --agents changed.yaml --json",
		Args: one("a FILE of cases", &c.File),
		RunE: l.run(c.Run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&c.Agents, "agents", "", "the agents `FILE` (default COUNTERSIGN_AGENTS)")
	f.BoolVar(&c.JSON, "json", false, "print one JSON object per case")
	return cmd
}

// Run tries the cases and prints those that are not as expected.
func (c *policyTestCommand) Run(ctx context.Context, p *Program) error {
	cfg, err := app.ReadConfig()
	if err != nil {
		return err
	}
	if c.Agents != "" {
		cfg.UseAgents(c.Agents)
	}
	cases, err := agentsfile.ReadCases(c.File, os.LookupEnv)
	if err != nil {
		return app.Misconfigured(err)
	}
	file, err := c.agents(cfg, cases)
	if err != nil {
		return err
	}
	servers := catalog.NewServers(app.BuildVersion().Version, cfg.Logger(p.Stderr)) // none is contacted
	defer servers.Close()
	results, err := policycheck.RunCases(ctx, cases, file, func(f *agentsfile.File) (*catalog.Catalog, error) {
		return catalog.Build(f, catalog.Config{Functions: p.Tools, Model: catalog.NoModel, Servers: servers})
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return app.Misconfigured(err)
	}
	return c.print(p, results)
}

// agents reads the agents file with the environment that the cases bring along.
func (c *policyTestCommand) agents(cfg *app.Config, cases *agentsfile.CaseFile) (*agentsfile.File, error) {
	unset := false
	file, err := cfg.ReadAgents(func(name string) (string, bool) {
		if value, ok := cases.Environment[name]; ok {
			return value, true
		}
		value, ok := os.LookupEnv(name)
		unset = unset || !ok || value == ""
		return value, ok
	})
	if err != nil && unset {
		err = fmt.Errorf("%w\nwhat is not set may have a value under `environment` in %s", err, c.File)
	}
	return file, err
}

func (c *policyTestCommand) print(p *Program, results []policycheck.Result) error {
	passed := true
	e := newEncoder(p.Stdout)
	e.SetEscapeHTML(false)
	for i := range results {
		r := &results[i]
		passed = passed && r.Passed
		switch {
		case c.JSON:
			if err := e.Encode(r); err != nil {
				return err
			}
		case !r.Passed:
			c.printFailed(p, r)
		}
	}
	if !c.JSON {
		fmt.Fprintln(p.Stdout, policycheck.Summary(results))
	}
	if !passed {
		return errSilent
	}
	return nil
}

// printFailed says what is not as the case expects.
func (c *policyTestCommand) printFailed(p *Program, r *policycheck.Result) {
	fmt.Fprintf(p.Stdout, "%s:%d: %s\n", visible.Line(c.File), r.Line, visible.Line(r.Name))
	for _, d := range r.Differences {
		fmt.Fprintf(p.Stdout, "  %s: expected %s, got %s\n", d.What, visible.Line(d.Expected), visible.Line(d.Got))
	}
	if r.Note != "" {
		fmt.Fprintf(p.Stdout, "  note: %s\n", visible.Line(r.Note))
	}
}
