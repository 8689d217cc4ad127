package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"countersign/internal/app"

	"github.com/spf13/cobra"
)

type healthcheckCommand struct {
	Ready bool
}

// command is the command line's view of it.
func (c *healthcheckCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "healthcheck",
		Short:   "Exit with 0 when the bot on this machine is ready",
		Long:    `Exit with 0 when the bot on this machine is well. Made for containers that have no other program.`,
		Example: `  HEALTHCHECK CMD ["/countersign", "healthcheck"]`,
		Args:    none,
		RunE:    l.run(c.Run),
		Hidden:  true,
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&c.Ready, "ready", false,
		"ask whether the bot hears Slack and has its store, not only whether it is alive")
	return cmd
}

// Run asks the bot at COUNTERSIGN_LISTEN.
func (c *healthcheckCommand) Run(ctx context.Context, _ *Program) error {
	cfg, err := app.ReadConfig()
	if err != nil {
		return err
	}
	address, err := localAddress(cfg.Listen)
	if err != nil {
		return app.Misconfigured(fmt.Errorf("COUNTERSIGN_LISTEN: %w", err))
	}
	path := "/healthz"
	if c.Ready {
		path = "/readyz"
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return fmt.Errorf("ask the bot: %w", err)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req) // by no proxy
	if err != nil {
		return fmt.Errorf("ask the bot: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(io.LimitReader(resp.Body, 500))
		return fmt.Errorf("the bot answers %s: %s", resp.Status, strings.TrimSpace(string(why)))
	}
	return nil
}

// localAddress is where this machine reaches a listener of the address.
func localAddress(listen string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", err
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}
