package testrun

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"countersign/approvals"
	"countersign/internal/agentsfile"
)

// ticket is the part of a trigger's request by which a system reports the result.
type ticket struct {
	Request  approvals.RequestID `json:"request"`
	Callback struct {
		URL   string `json:"url"`
		Token string `json:"token"`
	} `json:"callback"`
}

// callback reports a result as the system would that received the trigger of the card's call.
func (p *play) callback(ctx context.Context) ([]Failure, error) {
	var found ticket
	for _, r := range p.receipts.list() {
		var t ticket
		if json.Unmarshal(r.body, &t) == nil && t.Request == p.requests[p.step.Card] && t.Callback.URL != "" {
			found = t
		}
	}
	if found.Callback.URL == "" {
		return []Failure{p.failure("what servers received", "a trigger for card "+p.step.Card+" with a callback",
			"none")}, nil
	}
	body, err := json.Marshal(map[string]json.RawMessage{"result": p.step.Callback})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, found.Callback.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+found.Callback.Token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return p.refusedCallback(err.Error()), nil
	}
	defer res.Body.Close()
	if said, _ := io.ReadAll(io.LimitReader(res.Body, maxBody)); res.StatusCode != http.StatusOK {
		return p.refusedCallback(res.Status + " " + string(said)), nil
	}
	return nil, nil
}

func (p *play) refusedCallback(got string) []Failure {
	return []Failure{p.failure("the answer to the callback", "200 OK", got)}
}

// findTriggers looks for tools whose calls are sent elsewhere: they may only be sent to servers of the test, which
// report results to an address of the bot on this machine.
func (w *world) findTriggers(v agentsfile.Value) error {
	for _, e := range v.Entries() {
		for _, in := range e.Value.Entries() {
			if e.Key != "trigger" || in.Key != "url" {
				continue
			}
			w.triggers = true
			if !w.isServer(w.expandEnv(in.Value.Text())) {
				return problem(in.Value.Position(), "this trigger leads to none of the test's servers: set a variable "+
					"in env to ${servers.NAME}, or give a server replaces: [%s]", origin(in.Value.Text()))
			}
		}
		if err := w.findTriggers(e.Value); err != nil {
			return err
		}
	}
	for _, item := range v.Items() {
		if err := w.findTriggers(item); err != nil {
			return err
		}
	}
	return nil
}

// expandEnv puts in the variables of the test's environment.
func (w *world) expandEnv(text string) string {
	for name, value := range w.env {
		text = strings.ReplaceAll(text, "${"+name+"}", value)
	}
	return text
}

// chooseAddress decides where the bot listens: with triggers at an address that is known before, for callbacks.
func (w *world) chooseAddress() error {
	w.listen = []string{"COUNTERSIGN_LISTEN=127.0.0.1:0"}
	if !w.triggers {
		return nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("address for callbacks: %w", err)
	}
	address := l.Addr().String()
	w.listen = []string{"COUNTERSIGN_LISTEN=" + address, "COUNTERSIGN_PUBLIC_URL=http://" + address}
	return l.Close()
}
