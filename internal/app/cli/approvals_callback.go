package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"countersign/approvals"
)

type callbackCommand struct {
	ID, As string
	JSON   bool
}

// command is the command line's view of it.
func (c *callbackCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "callback ID",
		Short: "Make a token with which a system can provide the result of an external call once",
		Long: `Make a token for the request ID, which waits for the result of an external call, and print it with the
address where the result is to be sent:

  POST URL
  Authorization: Bearer TOKEN
  Content-Type: application/json

  {"result": "deployed as build 4711"}

The user must be allowed to provide the result. Each token replaces the one before; the store keeps a digest of it
alone, and it is printed only now. It needs COUNTERSIGN_PUBLIC_URL.`,
		Example: "  countersign approvals callback req_06f1k8… --as U0123456789",
		Args:    one("a request's id", &c.ID),
		RunE:    l.run(c.Run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&c.As, "as", "", "the Slack `USER` in whose name the token is made, such as U0123456789")
	f.BoolVar(&c.JSON, "json", false, "print one JSON object with url and token")
	return cmd
}

// Run makes and prints the token.
func (c *callbackCommand) Run(ctx context.Context, p *Program) error {
	if c.As == "" {
		return misused("in whose name? --as takes the id of a Slack user, such as U0123456789")
	}
	desk, err := p.decidingDesk(ctx)
	if err != nil {
		return err
	}
	defer desk.Close()
	r, err := desk.Request(ctx, approvals.RequestID(c.ID))
	if err != nil {
		return err
	}
	at, err := desk.IssueCallback(ctx, approvals.CallbackIssue{
		Workspace: r.Workspace, Request: r.ID, By: approvals.NewUserID(r.Workspace, c.As),
	})
	if err != nil {
		return err
	}
	if c.JSON {
		return newEncoder(p.Stdout).Encode(at)
	}
	_, err = fmt.Fprintf(p.Stdout, "POST %s\nAuthorization: Bearer %s\n", at.URL, at.Token)
	return err
}
