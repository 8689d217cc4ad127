package catalog

import (
	"context"
	"fmt"

	"countersign/agent"
	"countersign/agent/httptool"
	"countersign/agent/rawtool"
	"countersign/approvals"
	"countersign/internal/agentsfile"
)

// triggerKey names a tool of an agent.
type triggerKey struct{ agent, tool string }

// newTrigger makes what sends the calls of the tool.
func newTrigger(t *agentsfile.Tool) (*httptool.Sender, error) {
	headers, written := make(map[string]string), make(map[string]string)
	for _, h := range t.Trigger.Headers {
		headers[h.Name], written[h.Name] = h.Value.Value, h.Value.Written
	}
	return httptool.NewSender(httptool.Config{
		Name: t.Name, Method: t.Trigger.Method, URL: t.Trigger.URL.Value, WrittenURL: t.Trigger.URL.Written,
		Headers: headers, WrittenHeaders: written, Idempotent: t.Trigger.Idempotent, Timeout: t.Trigger.Timeout,
	})
}

// trigger is a Sender as package approvals knows it.
type trigger struct{ *httptool.Sender }

var _ approvals.Trigger = trigger{}

// Send is part of approvals.Trigger.
func (t trigger) Send(ctx context.Context, key string, body []byte) approvals.TriggerAnswer {
	a := t.Sender.Send(ctx, key, body)
	return approvals.TriggerAnswer{Taken: a.Taken, Again: a.Again, After: a.After, Unknown: a.Unknown, Text: a.Text}
}

// trigger makes the trigger of an agent's tool, if it has one, and binds the tool to it.
func (b *builder) trigger(a *agentsfile.Agent, t *agentsfile.Tool, tool *agent.Tool) bool {
	if t.Trigger == nil {
		return true
	}
	sender, err := newTrigger(t)
	if err != nil {
		b.refused(t.Trigger.Position, fmt.Sprintf("trigger of %q", t.Name), err)
		return false
	}
	tool.Attributes = append([]string{"trigger"}, sender.Binding()...)
	b.triggers[triggerKey{a.Name, t.Name}] = trigger{sender}
	return true
}

// newExternalTool makes the tool that the file declares, without a gate.
func newExternalTool(t *agentsfile.Tool) (agent.Tool, error) {
	tool := agent.Tool{Name: t.Name, Description: t.Description, Version: t.Version, Kind: agent.KindExternal,
		Parameters: t.Parameters, External: true}
	if len(t.Parameters) == 0 {
		return tool, nil
	}
	var err error
	tool.Validate, err = rawtool.Validator(t.Parameters)
	return tool, err
}
