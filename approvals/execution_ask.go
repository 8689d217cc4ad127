package approvals

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"countersign/agent"
)

// unmet is a call that needs an approval which cannot be given.
type unmet struct {
	in     agent.Interruption
	policy string
	notice string // for the people
	advice string // for them too, once where several calls need it
	output string // for the model
}

// question turns the open calls that nobody has been asked about into requests, and returns those for which there is
// nobody to ask.
func (x *execution) question(ctx context.Context, open []agent.Interruption) (refused []unmet, err error) {
	x.asked = nil
	g := newGatherer(x.directory, x.policy, x.run.conversation(), noTime)
	for _, in := range open {
		if slices.ContainsFunc(x.requests, func(r *Request) bool { return r.live(in) }) {
			continue
		}
		tool := x.state.Tool(in)
		r := x.newRequest(in, tool)
		r.inherit(x.requests)
		r.Explanation = explain(tool, &in.Call)
		call := in.Call
		call.Run = &agent.RunContext{Value: x.run} // for gates that read who asks, and where
		r.present(ctx, tool, &call, x.run.Input, x.requests)
		r.Trigger = x.triggerOf(in)
		u, err := x.require(ctx, g, r, in)
		if err == nil && u == nil && in.Kind != agent.OutcomeUnknown {
			u, err = x.room(ctx, in)
		}
		if err != nil {
			return nil, err
		}
		if u != nil {
			refused = append(refused, *u)
			continue
		}
		r.Called = g.called(ctx, r, x.clock.now(), g.open())
		x.asked = append(x.asked, r)
	}
	return refused, nil
}

// triggerOf is the state in which a call waits for being sent; nil for one that is sent nowhere.
func (x *execution) triggerOf(in agent.Interruption) *TriggerState {
	if in.Kind != agent.ExternalResult || x.triggers == nil {
		return nil
	}
	t := x.triggers.Trigger(in.Call.Agent, in.Call.Tool)
	if t == nil {
		return nil
	}
	return &TriggerState{
		Status: TriggerPlanned, Target: t.Target(), Effect: in.Call.EffectID, Call: in.Call.ID,
	}
}

// live reports whether the request still asks about exactly this. The request may have been settled meanwhile; the
// settlement finds out.
func (r *RequestHead) live(in agent.Interruption) bool {
	return r.asks(in) && r.Status == RequestPending && sameDigest(r.askedDigest(), in.Digest)
}

// newRequest returns the question about in, not yet put to anybody.
func (x *execution) newRequest(in agent.Interruption, tool *agent.Tool) *Request {
	secret := secretsOf(tool, in, x.requests)
	return &Request{
		RequestHead: RequestHead{
			Workspace: x.run.Workspace, Run: x.run.ID, Place: x.run.Place, Requester: x.run.Requester,
			Kind: in.Kind, Interruption: in.ID, Agent: in.Call.Agent, Path: in.Call.Path,
			Tool: snapshot(in.Call, tool), Definition: in.Definition, Digest: in.Digest, Secret: secret,
		},
		RequestContent: RequestContent{
			Arguments: in.Call.Arguments, Facts: in.Preconditions, Original: in.Original,
			Fields: inputFields(in.Fields, secret),
		},
	}
}

// The bounds of an explanation.
const (
	explanationLines = 40
	explanationLine  = 300
)

// explain asks the tool to take the call apart. A tool that panics explains nothing.
func explain(tool *agent.Tool, call *agent.ToolCall) (lines []string) {
	if tool == nil || tool.Explain == nil {
		return nil
	}
	defer func() {
		if recover() != nil {
			lines = nil
		}
	}()
	own := *call
	lines = slices.Clone(tool.Explain(&own)) // which may be the same for every call
	if len(lines) > explanationLines {
		left := len(lines) - explanationLines + 1
		lines = append(lines[:explanationLines-1:explanationLines-1], fmt.Sprintf("… and %d more", left))
	}
	for i, line := range lines {
		lines[i] = shortened(line, explanationLine)
	}
	return lines
}

// shortened cuts text after most characters, and says so.
func shortened(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}

// snapshot returns what people are told about the tool of the call.
func snapshot(call agent.ToolCall, tool *agent.Tool) ToolSnapshot {
	s := ToolSnapshot{Name: call.Tool, Kind: call.Kind}
	if tool != nil {
		s.Description, s.Version = tool.Description, tool.Version
		s.Binding = slices.Concat(hostedServer(tool), tool.Attributes)
	}
	return s
}

// hostedServer says which MCP server the provider is told to talk to. It is a part of the tool's definition as
// Attributes is.
func hostedServer(tool *agent.Tool) (parts []string) {
	var server struct {
		Label     string `json:"server_label"`
		URL       string `json:"server_url"`
		Connector string `json:"connector_id"`
	}
	if tool.Kind != agent.KindHostedMCP || json.Unmarshal(tool.Hosted(), &server) != nil {
		return nil
	}
	parts = []string{"server_label " + server.Label}
	if server.URL != "" {
		parts = append(parts, "server_url "+server.URL)
	}
	if server.Connector != "" {
		parts = append(parts, "connector_id "+server.Connector)
	}
	return parts
}

// require records the policy's demand in r and checks that enough people can meet it. When the directory does not
// answer, people are asked all the same: whoever answers is checked then.
func (x *execution) require(ctx context.Context, g *gatherer, r *Request, in agent.Interruption) (*unmet, error) {
	var err error
	if r.Requirement, err = x.demand(ctx, g, r); err != nil {
		x.log.ErrorContext(ctx, "policy failed", "run", r.Run, "tool", r.Tool.Name, "error", err)
		return cannot(in, "", wordsPolicyFailed), nil
	}
	q := &r.Requirement
	r.mergeExpiry()
	if until := q.frozenOut(x.clock.now()); !until.IsZero() && in.Kind == agent.Confirm {
		u := cannot(in, q.Policy, wordsFrozenFor(q.name(), until))
		u.advice = wordsAskAgainThen
		return u, nil
	}
	failing, found, why, err := g.unmeetable(ctx, r)
	if errors.Is(err, ErrUnavailable) {
		x.log.WarnContext(ctx, "approvers not counted", "run", r.Run, "error", err)
		return nil, nil
	}
	if err != nil || why == "" {
		return nil, err
	}
	u := cannot(in, failing.Policy, why)
	u.advice = failing.advice(r.Place)
	if in.Kind == agent.Confirm {
		u.notice = failing.tooFew(in.Call.Tool, r.Place, found, r.needs(failing))
	}
	return u, nil
}

// unmeetable says why people cannot settle r, which nobody has been asked about yet: too few could take the seats of
// one of its requirements, which it returns. Empty: they can.
func (g *gatherer) unmeetable(ctx context.Context, r *Request) (q *Requirement, found int, why string, err error) {
	for _, q := range r.demands(&r.Requirement)[:1+len(r.Inherited)] {
		found, err := g.seatable(ctx, &r.RequestHead, q)
		if err != nil {
			return nil, 0, "", err
		}
		if needs := r.needs(q); found < needs {
			return q, found, wordsTooFewAsked(q.name(), needs, found), nil
		}
	}
	return nil, 0, "", nil
}

// seatable returns how many of the seats of q could be taken by people who could answer r, which is not asked yet, some
// of them perhaps after an escalation.
func (g *gatherer) seatable(ctx context.Context, r *RequestHead, recorded *Requirement) (int, error) {
	q, asked := recorded.eventually(r.lifetime()), r.terms(recorded, r.asked())
	g.candidates(ctx, &q, len(q.Seats)+len(r.Editors))
	var people []UserID
	edges := make([][]int, len(q.Seats))
	for i, seat := range q.Seats {
		left, err := look(g.left, seat.Approvers.key())
		if err != nil {
			return 0, err
		}
		for _, u := range left.found {
			if g.couldSit(asked, seat, u) != nil {
				continue
			}
			j := slices.Index(people, u)
			if j < 0 {
				j = len(people)
				people = append(people, u)
			}
			edges[i] = append(edges[i], j)
		}
	}
	return taken(edges, len(people)), nil
}

// demand returns the requirement for r. To run a call again takes what it took to run it.
func (x *execution) demand(ctx context.Context, g *gatherer, r *Request) (Requirement, error) {
	if r.Kind == agent.OutcomeUnknown {
		for _, old := range slices.Backward(x.requests) {
			if old.Interruption == r.Interruption && old.Kind == agent.Confirm && old.Status == RequestApproved {
				r.Inherited = old.Inherited
				return old.Requirement, nil
			}
		}
	}
	return g.requirement(ctx, r)
}

// room checks that the requester may have one more pending request.
func (x *execution) room(ctx context.Context, in agent.Interruption) (*unmet, error) {
	most := x.limits.PendingPerPerson
	if most == 0 {
		return nil, nil
	}
	n, err := x.pending(ctx)
	if err != nil {
		return nil, err
	}
	if n+len(x.asked) < most {
		return nil, nil
	}
	return cannot(in, "", wordsTooManyWait(most)), nil
}

// pending counts the requester's pending requests.
func (x *execution) pending(ctx context.Context) (n int, err error) {
	err = x.store.View(WithOneRead(ctx, true), func(tx Tx) (err error) {
		n, err = tx.PendingOf(x.run.Workspace, x.run.Requester)
		return err
	})
	if err != nil {
		return 0, &storeError{err}
	}
	return n, nil
}

// refuse tells the people and the model that calls need an approval which cannot be given, and saves that.
func (x *execution) refuse(ctx context.Context, all []unmet) error {
	for _, u := range all {
		if err := x.state.Reject(u.in, agent.RejectOptions{Message: &u.output}); err != nil {
			return fmt.Errorf("refuse %s: %w", u.in.ID, err)
		}
	}
	err := x.write(ctx, func(c *txn, r *Run) error {
		earlier, err := c.requestsOf(r.ID)
		if err != nil {
			return err
		}
		advised := map[string]bool{"": true}
		for _, u := range all {
			data := auditData{Tool: u.in.Call.Tool, Digest: u.in.Digest, Policy: cmp.Or(u.policy, "-")}
			if err := c.audit(entry{Action: AuditRequestUnmet, Actor: system, Run: r.ID, Data: data}); err != nil {
				return err
			}
			if u.in.Kind == agent.OutcomeUnknown {
				if err := c.doubtForGood(r.ID, u.in.ID, earlier); err != nil {
					return err
				}
			}
			notice := u.notice
			if !advised[u.advice] {
				notice += " " + u.advice
			}
			advised[u.advice] = true
			c.say(r, notice)
		}
		return x.saveState(c, r)
	})
	if err != nil {
		return stored(err)
	}
	x.journal.reset()
	return nil
}
