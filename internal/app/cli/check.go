package cli

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"countersign/internal/agentsfile"
	"countersign/internal/app"
	"countersign/internal/catalog"
	"countersign/internal/lineage"
	"countersign/internal/visible"
)

type checkCommand struct {
	Offline, Store, MCP, Schema, JSON bool
	File                              string
}

// command is the command line's view of it.
func (c *checkCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Check the environment, the agents file, the policies, the store and the Slack token",
		Long: `Check the environment, the agents file FILE (COUNTERSIGN_AGENTS when left out), the policies, the
file or the database of COUNTERSIGN_STORE with the keys that are set, and the Slack token.

Nothing is run and nothing is written. Variables that the agents file uses must be set; their values are not shown.
With --mcp, MCP servers are started or contacted, and asked for their tools; no tool is called.`,
		Example: `  countersign check --offline countersign.yaml
  countersign check --mcp`,
		Args: atMostOne(&c.File),
		RunE: l.run(c.Run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&c.Offline, "offline", false,
		"ask neither Slack nor the store, and accept that tokens and keys are not set")
	f.BoolVar(&c.Store, "store", false, "with --offline: ask the store all the same")
	f.BoolVar(&c.MCP, "mcp", false, "start or contact the MCP servers of the file, and list their tools")
	f.BoolVar(&c.Schema, "schema", false, "print the JSON Schema of the agents file, for editors")
	f.BoolVar(&c.JSON, "json", false, "print JSON")
	return cmd
}

// report is what check found in order.
type report struct {
	File   string        `json:"file"`
	SHA256 string        `json:"sha256"`
	Tools  []catalog.Row `json:"tools"`
	// Policies are those with a condition, in their order; Policy is what holds where none of them does.
	Policies []catalog.PolicyRow `json:"policies,omitempty"`
	Policy   string              `json:"policy,omitempty"`
	// Unmatched are the policies that hold for no call, because no agent has the tool that they are for.
	Unmatched  []catalog.Unmatched `json:"unmatched,omitempty"`
	Requesters string              `json:"requesters"`
	Retention  string              `json:"retention"` // what is kept for how long
	Delegates  []standIn           `json:"delegates,omitempty"`
	BreakGlass *emergency          `json:"break_glass,omitempty"`
	Store      *storeReport        `json:"store,omitempty"`
	Slack      string              `json:"slack"`
	catalog    *catalog.Catalog    // what the words come from
	missing    []string            // what is not set, and not needed offline
	byHand     []string            // tools whose calls are sent elsewhere, and whose results cannot come from there
	channels   [][2]string         // channel and agent
}

// Run prints what would run, or what is wrong.
func (c *checkCommand) Run(ctx context.Context, p *Program) error {
	if c.Schema {
		_, err := p.Stdout.Write(agentsfile.Schema)
		return err
	}
	cfg, err := app.ReadConfig()
	if err != nil {
		return err
	}
	if c.File != "" {
		cfg.UseAgents(c.File)
	}
	rep, err := c.inspect(ctx, p, cfg)
	if err != nil {
		return err
	}
	if c.JSON {
		e := newEncoder(p.Stdout)
		e.SetEscapeHTML(false)
		return e.Encode(rep)
	}
	return rep.print(p.Stdout)
}

// inspect checks the environment and the file together, so that one look shows everything that is wrong.
func (c *checkCommand) inspect(ctx context.Context, p *Program, cfg *app.Config) (*report, error) {
	environment := cfg.CheckRun()
	rep := &report{Slack: "not asked"}
	if c.Offline {
		environment = cfg.CheckSet()
		rep.missing = cfg.Missing()
	}
	servers := catalog.NewServers(app.BuildVersion().Version, cfg.Logger(p.Stderr))
	defer servers.Close()
	made, err := app.LoadCatalog(cfg, catalog.Config{Functions: p.Tools, Model: catalog.NoModel, Servers: servers})
	if err := errors.Join(environment, err); err != nil {
		return nil, app.Misconfigured(err)
	}
	if err := rep.describe(ctx, made); err != nil {
		return nil, err
	}
	if cfg.CallbackURL() == "" {
		rep.byHand = made.Triggered()
	}
	if c.MCP {
		_, _ = lineage.Set() // on what servers leave behind; where it cannot be, the bot says so at its start
		if rep.Tools, err = made.ListedRows(ctx); err != nil {
			return nil, err
		}
	}
	if !c.Offline || c.Store {
		if rep.Store, err = examineStore(ctx, p, cfg); err != nil {
			return nil, err
		}
	}
	if c.Offline {
		return rep, nil
	}
	if err := rep.Store.checkKeys(cfg); err != nil {
		return nil, err
	}
	if cfg.Installs() {
		rep.Slack, err = app.CheckInstalls(ctx, cfg)
		return rep, err
	}
	ws, err := app.CheckSlack(ctx, cfg, made)
	rep.Slack = fmt.Sprintf("workspace %s, tokens and scopes are good", ws)
	return rep, err
}

// describe puts the catalog into words. Texts are shown as they are written.
func (rep *report) describe(ctx context.Context, c *catalog.Catalog) error {
	rep.catalog = c
	rep.File, rep.SHA256, rep.Tools = c.File.Path, hex.EncodeToString(c.File.Digest[:]), c.Rows()
	rep.Requesters, rep.Retention = c.File.Requesters.String(), c.File.Retention.String()
	for _, id := range c.File.ChannelIDs() {
		rep.channels = append(rep.channels, [2]string{id, c.File.Channels[id]})
	}
	rep.Delegates, rep.BreakGlass = standIns(c.File), whoBreaksGlass(c.File)
	policies, err := c.PolicyRows(ctx)
	if err != nil {
		return err
	}
	if c.File.DefaultPolicy != nil {
		last := len(policies) - 1
		rep.Policy, policies = policies[last].Agreement(), policies[:last]
	}
	rep.Policies, rep.Unmatched = policies, c.Unmatched()
	return nil
}

func (rep *report) print(w io.Writer) error {
	fmt.Fprintf(w, "%s is in order (sha256 %s)\n\n", visible.Line(rep.File), rep.SHA256[:16])
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "AGENT\tTOOL\tTYPE\tGATE\tCALL")
	for _, r := range rep.Tools {
		gate := strings.Join(strings.Fields(r.Gate), " ")
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n",
			visible.Line(r.Agent), visible.Line(r.Tool), r.Type, visible.Line(gate), visible.Line(r.Call))
	}
	if len(rep.Policies) > 0 {
		fmt.Fprintln(t, "\nPOLICY\tMUST AGREE\tWHEN")
	}
	for _, p := range rep.Policies {
		fmt.Fprintf(t, "%s\t%s\t%s\n", visible.Line(p.Name), visible.Line(p.Agreement()), visible.Line(p.When))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nanswers     %s\n", visible.Line(rep.answers()))
	fmt.Fprintf(w, "may ask     %s\n", visible.Line(rep.Requesters))
	fmt.Fprintf(w, "kept        %s\n", rep.Retention)
	if rep.Policy != "" {
		otherwise := ""
		if len(rep.Policies) > 0 {
			otherwise = " (where none of the policies above holds)"
		}
		fmt.Fprintf(w, "must agree  %s%s\n", visible.Line(rep.Policy), otherwise)
	}
	for _, u := range rep.Unmatched {
		fmt.Fprintf(w, "            WARNING: %s\n", visible.Line(u.String()))
	}
	for _, d := range rep.Delegates {
		fmt.Fprintf(w, "stand in    %s for %s until the end of %s\n", d.To, d.From, d.Until)
	}
	if rep.BreakGlass != nil {
		fmt.Fprintf(w, "emergency   %s\n", rep.BreakGlass)
	}
	rep.Store.print(w)
	fmt.Fprintf(w, "Slack       %s\n", visible.Line(rep.Slack))
	if len(rep.byHand) > 0 {
		fmt.Fprintf(w, "by hand     %s: people provide the results, because COUNTERSIGN_PUBLIC_URL is not set\n",
			visible.Line(strings.Join(rep.byHand, ", ")))
	}
	if len(rep.missing) > 0 {
		fmt.Fprintf(w, "not set     %s: the bot needs them to run\n", strings.Join(rep.missing, ", "))
	}
	return nil
}

func (rep *report) answers() string {
	words := []string{rep.catalog.File.DefaultAgent}
	for _, c := range rep.channels {
		words = append(words, c[1]+" in "+c[0])
	}
	return strings.Join(words, ", ")
}
