package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"countersign/approvals"
	"countersign/internal/control"
	"countersign/internal/visible"
)

type replayCommand struct {
	ids       []approvals.NotificationID
	All, JSON bool
}

// command is the command line's view of it.
func (c *replayCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replay ID… | --all",
		Short: "Put what was given up back into the outbox",
		Long: `Put dead letters back into the outbox, by their IDs or all of them, ` +
			`so that their delivery is tried again.

Mend first what kept them from being delivered, as "outbox list" says it. A card shows its request as it stands when
it is delivered. While no bot runs, the next one delivers them.`,
		Example: `  countersign outbox replay ntf_06f1k8…
  countersign outbox replay --all`,
		Args: c.setIDs,
		RunE: l.run(c.Run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&c.All, "all", false, "put back everything that was given up")
	f.BoolVar(&c.JSON, "json", false, "print one JSON object per line for what was put back")
	return cmd
}

// setIDs takes each id once.
func (c *replayCommand) setIDs(_ *cobra.Command, args []string) error {
	for _, id := range args {
		if id == "" {
			return misused("an empty text is no id of a dead letter")
		}
		if !slices.Contains(c.ids, approvals.NotificationID(id)) {
			c.ids = append(c.ids, approvals.NotificationID(id))
		}
	}
	switch {
	case c.All && len(args) > 0:
		return misused("--all puts back everything; ids do not go with it")
	case !c.All && len(args) == 0:
		return misused("countersign outbox replay needs the ids of dead letters, or --all")
	}
	return nil
}

// Run puts the dead letters back.
func (c *replayCommand) Run(ctx context.Context, p *Program) error {
	desk, err := p.writingDesk(ctx)
	if err != nil {
		return err
	}
	defer desk.Close()
	return c.replay(ctx, p, desk)
}

// replay fails when one of the ids is not that of a dead letter. The others are put back.
func (c *replayCommand) replay(ctx context.Context, p *Program, desk control.Desk) error {
	if c.All {
		err := walkLetters(ctx, desk, 0, func(d *control.DeadLetter) error {
			c.ids = append(c.ids, d.ID)
			return nil
		})
		if err != nil {
			return err
		}
	}
	var back []approvals.NotificationID
	var err error
	for ids := range slices.Chunk(c.ids, replayAtOnce) {
		var some []approvals.NotificationID
		some, err = desk.Replay(ctx, ids...)
		if back = append(back, some...); err != nil {
			break
		}
	}
	slices.Sort(back)
	if said := c.say(p, desk, back); err == nil {
		err = said
	}
	if err == nil && !c.All { // what --all has listed may be put back by somebody else meanwhile
		err = c.missing(back)
	}
	return err
}

// replayAtOnce is how many dead letters are put back in one transaction.
const replayAtOnce = 100

// say prints what was put back.
func (c *replayCommand) say(p *Program, desk control.Desk, back []approvals.NotificationID) error {
	if c.JSON {
		e := newEncoder(p.Stdout)
		for _, id := range back {
			if err := e.Encode(replayed{id}); err != nil {
				return err
			}
		}
		return nil
	}
	text := nothingDead
	switch {
	case len(c.ids) > 0 && len(back) == 0:
		text = "Nothing was put back."
	case len(c.ids) > 0:
		when := "the bot delivers it when it runs next"
		if _, running := desk.(*control.Client); running {
			when = "the bot delivers it now"
		}
		text = fmt.Sprintf("Back in the outbox: %d of %d; %s.", len(back), len(c.ids), when)
	}
	_, err := fmt.Fprintln(p.Stdout, text)
	return err
}

// replayed is what is said of a dead letter that was put back.
type replayed struct {
	ID approvals.NotificationID `json:"id"`
}

// missing is the error for ids that are not those of dead letters.
func (c *replayCommand) missing(back []approvals.NotificationID) error {
	var others []string
	for _, id := range c.ids {
		if !slices.Contains(back, id) {
			others = append(others, visible.Line(string(id)))
		}
	}
	if len(others) == 0 {
		return nil
	}
	return fmt.Errorf("%w: no dead letter has the id %s", approvals.ErrNotFound, strings.Join(others, ", "))
}
