package slackdev

import (
	"fmt"
	"net"
	"net/http"
)

// Inside returns a workspace without a network, in HTTP mode, and the handler that serves it at Workspace.URL: whoever
// calls the handler is the network from the app to Slack, and toApp the one from Slack to the app. So it can live in a
// bubble of testing/synctest. Close it as any other.
func Inside(cfg Config, toApp http.RoundTripper) (*Workspace, http.Handler, error) {
	cfg.Mode = ModeHTTP
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, nil, fmt.Errorf("slackdev config: %w", err)
	}
	w := newWorkspace(cfg, nowhere{})
	w.client.Transport = toApp
	return w, w.routes(), nil
}

// nowhere is the listener of a workspace that nobody can dial.
type nowhere struct{}

func (nowhere) Accept() (net.Conn, error) { return nil, net.ErrClosed }
func (nowhere) Close() error              { return nil }
func (nowhere) Addr() net.Addr            { return nowhere{} }
func (nowhere) Network() string           { return "none" }
func (nowhere) String() string            { return "slack.test" }
