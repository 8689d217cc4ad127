package app

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

type healthcheckCommand struct {
	Ready bool `help:"Ask whether the bot hears Slack, not only whether it is alive."`
}

// Help is the text below the usage line.
func (healthcheckCommand) Help() string {
	return "Made for containers that have no other program.\n\nExample:\n\n    HEALTHCHECK CMD [\"/countersign\", \"healthcheck\"]\n"
}

// Run asks the bot at COUNTERSIGN_LISTEN.
func (c *healthcheckCommand) Run(ctx context.Context) error {
	cfg, err := ReadConfig()
	if err != nil {
		return err
	}
	address, err := localAddress(cfg.Listen)
	if err != nil {
		return misconfigured(fmt.Errorf("COUNTERSIGN_LISTEN: %w", err))
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
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("ask the bot: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the bot answers %s", resp.Status)
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
