// Countersign is a Slack bot that runs AI agents and asks people before a tool call that matters.
//
// The command line is in internal/app/cli, the server in internal/app. Here, and only here, the Go functions are
// registered that tools of type function in the agents file may name.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"countersign/agent"
	"countersign/internal/app/cli"
	"countersign/internal/procsecret"
)

func main() {
	if err := procsecret.Hide(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		fmt.Fprintln(os.Stderr, "countersign: the programs that tools start can read this program's environment:", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks everything to end; a second one ends the program at once.
	context.AfterFunc(ctx, stop)
	os.Exit(cli.Main(ctx, cli.Program{
		Args:    os.Args[1:],
		Tools:   []agent.Tool{currentTime()},
		Stdout:  os.Stdout,
		Stderr:  os.Stderr,
		Environ: os.Environ(),
	}))
}

type currentTimeInput struct {
	Zone *string `json:"zone" doc:"Name of an IANA time zone such as Europe/Berlin; UTC when null."`
}

type currentTimeOutput struct {
	Time    string `json:"time"`
	Zone    string `json:"zone"`
	Weekday string `json:"weekday"`
}

// currentTime tells the model what it cannot know.
func currentTime() agent.Tool {
	t := agent.NewTool("current_time", "Tells the current date and time in a time zone.",
		func(_ context.Context, in currentTimeInput) (currentTimeOutput, error) {
			zone := time.UTC
			if in.Zone != nil && *in.Zone != "" {
				var err error
				if zone, err = time.LoadLocation(*in.Zone); err != nil {
					return currentTimeOutput{}, fmt.Errorf("unknown time zone %q", *in.Zone)
				}
			}
			now := time.Now().In(zone)
			return currentTimeOutput{now.Format(time.RFC3339), zone.String(), now.Weekday().String()}, nil
		})
	t.Idempotent = true
	return t
}
