package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"countersign/agent/internal/strictjson"
)

// Texts that the model reads about a call of an MCP server that its provider talks to.
const (
	textNotTold = "The call was not carried out: another call of the same answer has to be asked about again first. " +
		"Ask for it once more if it is still needed."
	textOtherAgent = "The call was not carried out: another agent was to take over that has another MCP server of " +
		"this name."
	textCarriedOut = "This call has been carried out already; do not repeat it. Its output: "
	textItFailed   = "This call has been tried already, and failed: "
)

// informed is a call that the provider is being told to carry out.
type informed struct {
	call   *call
	effect Effect
}

// onlyProviderLeft reports whether nothing is left of the turn but calls that the next request tells the provider to
// carry out.
func (f *frame) onlyProviderLeft() bool {
	return len(f.calls) > 0 && !slices.ContainsFunc(f.calls, func(c *call) bool { return !c.goesToProvider() })
}

// handsOff reports whether a handoff of the turn is left.
func (f *frame) handsOff() bool {
	return slices.ContainsFunc(f.calls, func(c *call) bool { return c.State != callDone && !c.goesToProvider() })
}

// goesToProvider reports whether the call is one that the provider is told to carry out with the next request.
func (c *call) goesToProvider() bool {
	return c.next != nil && c.State == callCleared && c.Output == nil
}

// postpone leaves a call that may run to the next request.
func (l *loop) postpone(c *call, tool *Tool, how ruling) {
	resumed := c.State == callCleared && !c.recorded
	c.clear(how)
	c.recorded = !resumed
	c.next = &job{
		call: c, tool: tool, view: l.view(c), how: how, id: l.frame.interruptionID(c.ID),
		resumed: resumed, ended: c.ended,
	}
}

// inform asks the journal, right before a request, about the calls that the request tells the provider to carry out.
// From then on they may have happened, until confirm has recorded what the provider says of them. It reports whether
// people have to be asked about one; then the provider is told of none.
func (l *loop) inform(ctx context.Context) (waits bool, err error) {
	f := l.frame
	calls := slices.DeleteFunc(slices.Clone(f.calls), func(c *call) bool { return !c.goesToProvider() })
	if len(calls) == 0 {
		return false, nil
	}
	if err := l.checkpoint(ctx); err != nil { // after a crash no gate is asked about a call that may have begun
		return false, err
	}
	// A permission to try a call again is used last: it is lost where another call has to be asked about first.
	order := slices.Clone(calls)
	slices.SortStableFunc(order, func(a, b *call) int { return a.tries() - b.tries() })
	var told []informed
	for _, c := range order {
		moved, err := l.moved(ctx, c)
		if err != nil {
			l.notTold(told)
			return false, err
		}
		if moved {
			break
		}
		j := c.next
		var effect Effect
		var s step
		l.unlocked(func() { effect, s = l.announce(ctx, j) })
		switch s.act {
		case actRun:
			c.recorded, c.unsent = false, false
			told = append(told, informed{c, effect})
		case actStop:
			c.recorded = s.recorded
			l.notTold(told)
			return false, s.err
		default:
			l.apply(c, s)
			l.traceQuestion(ctx, c, s)
		}
		if f.waits() {
			break
		}
	}
	if f.waits() {
		for i, t := range told {
			if t.effect.Retry { // whether it had happened before is as unknown as it was
				var s step
				l.unlocked(func() { s = l.doubt(ctx, t.call.next, t.effect) })
				l.apply(t.call, s)
				l.traceQuestion(ctx, t.call, s)
				continue
			}
			output := ToolOutput{Text: textNotTold, Failed: true}
			var err error
			l.unlocked(func() { err = l.done(ctx, t.effect, output) })
			if err != nil {
				l.notTold(told[i:])
				return false, err
			}
			l.apply(t.call, step{act: actAnswer, output: &output})
		}
		told = nil
	}
	answered := slices.DeleteFunc(calls, func(c *call) bool { return c.Output == nil })
	l.flush(&batch{calls: answered})
	l.told = append(l.told, told...)
	if f.waits() {
		return true, l.checkpoint(ctx)
	}
	return false, nil
}

// tries is 1 for a call that people let be tried again, else 0.
func (c *call) tries() int {
	if c.Question == OutcomeUnknown {
		return 1
	}
	return 0
}

// moved has people asked again about a call whose server is, in the request, not the one that they were asked about.
func (l *loop) moved(ctx context.Context, c *call) (moved bool, err error) {
	f := l.frame
	tool := f.tool(c)
	switch {
	case tool == nil:
		return false, fmt.Errorf("%w: %q of agent %q has an open call", ErrUnknownTool, excerpt(c.Tool), f.agent)
	case f.unchanged(c, tool):
		return false, nil
	}
	s := step{act: actAsk, question: cmp.Or(c.Question, Confirm), renew: true, attempt: c.Attempt}
	if !c.recorded || s.question == OutcomeUnknown {
		s.question, s.attempt = OutcomeUnknown, c.Attempt+1
	}
	c.Kind = tool.kind()
	c.bind(f.definition(c, tool))
	l.apply(c, s)
	l.traceQuestion(ctx, c, s)
	return true, nil
}

// announce asks the journal about one call. The step is actRun where the provider may be told.
func (l *loop) announce(ctx context.Context, j *job) (effect Effect, s step) {
	effect, err := l.effect(j)
	if err == nil {
		err = stopped(ctx)
	}
	if err != nil {
		return effect, stop(err)
	}
	prior, s, ends := l.permit(ctx, j, effect)
	switch {
	case prior.Output != nil:
		output := alreadyCarriedOut(*prior.Output)
		return effect, step{act: actAnswer, output: &output}
	case ends:
		return effect, s
	}
	return effect, step{act: actRun}
}

// holdBack answers the calls of MCP servers of which an agent that may take over has another one under the name: its
// request would tell the provider that a call of that one is approved.
func (l *loop) holdBack() {
	f := l.frame
	var b batch
	for _, c := range f.calls {
		if !c.goesToProvider() || !slices.ContainsFunc(f.calls, func(h *call) bool { return l.leaves(c, h) }) {
			continue
		}
		text := textOtherAgent
		if !c.recorded || c.Question == OutcomeUnknown {
			text = textGaveUp
		}
		l.apply(c, step{act: actAnswer, output: &ToolOutput{Text: text, Failed: true}})
		b.calls = append(b.calls, c)
	}
	l.flush(&b)
}

// leaves reports whether the handoff, if it is one, leads to an agent that has another server under the name of the
// call's.
func (l *loop) leaves(c, handoff *call) bool {
	f := l.frame
	if handoff.State == callDone {
		return false
	}
	h := f.tool(handoff)
	if h == nil || h.handoff == nil {
		return false
	}
	server := l.state.graph[h.handoff.Agent.Name].ownTools().find(f.callItem(c))
	return server != nil && !f.unchanged(c, server)
}

// approvals returns the items that tell the provider to carry out the calls it has not been told of yet.
func (l *loop) approvals() (items []Item) {
	for _, t := range l.told {
		if t.call.State != callDone {
			items = append(items, l.frame.outputOf(t.call, ToolOutput{Text: approvalText(true, "")}))
		}
	}
	return items
}

// keepApprovals takes the approvals that a request held, or will hold, into the conversation.
func (l *loop) keepApprovals() {
	items := l.approvals()
	for _, t := range l.told {
		if t.call.State == callDone {
			continue
		}
		l.frame.keepAnswer(t.call)
		l.frame.append(items[0])
		items = items[1:]
		t.call.end()
	}
}

// notTaken takes note that the provider has not taken a request: what it was to carry out has not begun.
func (l *loop) notTaken() { l.notTold(l.told) }

// notTold takes note that the provider has not been told of calls whose intents are recorded.
func (l *loop) notTold(calls []informed) {
	for _, t := range calls {
		t.call.recorded, t.call.unsent = true, true
		l.untaken = append(l.untaken, t.effect.ID)
	}
}

// confirm records what the provider's answer says of the calls that it was told to carry out. Of one of which it says
// nothing the intent stays open, as after a crash.
func (l *loop) confirm(ctx context.Context, resp *ModelResponse) error {
	told := l.told
	l.told = nil
	for _, t := range told {
		output, known := carriedOut(resp.Items, l.frame.callItem(t.call), told, l.frame)
		if !known {
			l.log.WarnContext(ctx, "the provider does not say what came of a call that it was told to carry out",
				"call", excerpt(t.call.ID))
			continue
		}
		var err error
		l.unlocked(func() { err = l.done(ctx, t.effect, output) })
		if err != nil {
			return err
		}
	}
	return nil
}

// itemMCPCall is the type of the item that says what came of a call of an MCP server.
const itemMCPCall ItemType = "mcp_call"

// carriedOut returns what a response says of the call that was asked about. A provider that does not name the question
// is understood where the response has one such call, and one such question was answered.
func carriedOut(items []Item, asked *Item, told []informed, f *frame) (output ToolOutput, known bool) {
	var named, unnamed []mcpCall
	for i := range items {
		if items[i].Type != itemMCPCall {
			continue
		}
		var c mcpCall
		if json.Unmarshal(items[i].Raw, &c) != nil {
			continue
		}
		switch {
		case c.Request == asked.CallID:
			named = append(named, c)
		case c.Request == "" && c.Server == asked.Server && c.Name == asked.Name:
			unnamed = append(unnamed, c)
		}
	}
	if len(named) > 0 {
		return resultOf(named)
	}
	alike := 0
	for _, t := range told {
		if it := f.callItem(t.call); it.Server == asked.Server && it.Name == asked.Name {
			alike++
		}
	}
	if len(unnamed) != 1 || alike != 1 {
		return ToolOutput{}, false
	}
	return unnamed[0].result()
}

// resultOf returns the output of a call that the provider has tried as often as it says: it has happened if one try
// says so, and has failed if all of them did.
func resultOf(tries []mcpCall) (output ToolOutput, over bool) {
	over = true
	for i := range tries {
		out, ended := tries[i].result()
		if ended && !out.Failed {
			return out, true
		}
		output, over = out, over && ended
	}
	return output, over
}

// mcpCall is what an item of that type says.
type mcpCall struct {
	Request string          `json:"approval_request_id"`
	Server  string          `json:"server_label"`
	Name    string          `json:"name"`
	Status  string          `json:"status"`
	Output  *string         `json:"output"`
	Error   json.RawMessage `json:"error"`
}

// result returns the output of the call, if it is over.
func (c *mcpCall) result() (output ToolOutput, over bool) {
	switch failed := len(c.Error) > 0 && string(c.Error) != "null"; {
	case failed || c.Status == "failed":
		return limited(ToolOutput{Text: validText(c.failure()), Failed: true}), true
	case c.Output == nil && c.Status != "" && c.Status != "completed":
		return ToolOutput{}, false
	case c.Output == nil:
		return ToolOutput{}, true
	}
	return limited(ToolOutput{Text: validText(*c.Output)}), true
}

// failure says why the call failed, as far as the provider says so.
func (c *mcpCall) failure() string {
	var text string
	if json.Unmarshal(c.Error, &text) == nil && text != "" {
		return text
	}
	var object struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(c.Error, &object) == nil && object.Message != "" {
		return object.Message
	}
	if canonical, err := strictjson.Canonical(c.Error); err == nil && string(canonical) != "null" {
		return string(canonical)
	}
	return "The MCP server does not say why."
}

// alreadyCarriedOut words, for the model, what is known of a call that the provider was told to carry out: in the place
// of an approval, which would have it carried out once more.
func alreadyCarriedOut(output ToolOutput) ToolOutput {
	text := textCarriedOut + output.Text
	switch {
	case output.Failed && output.Text == textNotTold:
		text = textNotTold
	case output.Failed:
		text = textItFailed + output.Text
	case output.Text == approvalText(true, ""): // an earlier version recorded no more than that
		text = textGaveUp
	}
	return ToolOutput{Text: excerptLong(text), Failed: true}
}
