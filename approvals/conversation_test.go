package approvals_test

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"countersign/agent"
	"countersign/agent/guardrail"
	"countersign/approvals"
)

// provider is a model whose provider keeps conversations by their last response.
type provider struct {
	mu   sync.Mutex
	kept map[string][]string // what was said up to a response
	sent []string            // what each request held, joined
	n    int
	tool string // that is called; pay when empty
}

// Respond makes one call of pay for each message that says so, and repeats everything it knows otherwise.
func (p *provider) Respond(_ context.Context, req *agent.ModelRequest) (*agent.ModelResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.kept[req.PreviousResponseID]
	if req.PreviousResponseID != "" && !ok {
		return nil, fmt.Errorf("404: %w", agent.ErrConversationGone)
	}
	var news []string
	for _, it := range req.Items {
		news = append(news, it.Text+it.Name+it.Output)
	}
	p.sent = append(p.sent, strings.Join(news, "|"))
	known = append(known[:len(known):len(known)], news...)
	p.n++
	answer := agent.AssistantMessage(fmt.Sprintf("answer %d", p.n))
	if last := req.Items[len(req.Items)-1]; last.Text == "please" {
		answer = call(fmt.Sprintf("c%d", p.n), cmp.Or(p.tool, "pay"), `{}`)
	}
	id := fmt.Sprintf("resp_%d", p.n)
	p.kept[id] = append(known, answer.Text+answer.Name)
	return &agent.ModelResponse{ID: id, Items: []agent.Item{answer}}, nil
}

func (p *provider) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.kept)
}

func (p *provider) requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.sent...)
}

// keeping has the agent's conversations kept by p, or not.
func (b *bench) keeping(p *provider, kept bool) {
	b.agents.set(approvals.AgentConfig{
		Agent: &agent.Agent{Name: "ops", Model: p, Tools: b.tools()}, ProviderConversation: kept,
	})
}

// paid takes a run from its start to its answer.
func (b *bench) paid() {
	b.Helper()
	id := b.submit()
	b.must(b.question(id), bob, approvals.Approve, "")
	b.reaches(id, approvals.RunDone)
}

func (b *bench) sent(p *provider, want ...string) {
	b.Helper()
	if got := p.requests(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		b.Errorf("the provider was sent\n%s\nand not\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestConversationOfTheProvider sends only what is new, across pauses, restarts and runs.
func TestConversationOfTheProvider(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := &provider{kept: map[string][]string{}}
	b.keeping(p, true)
	b.start()
	b.paid()
	second := b.submit()
	r := b.question(second)
	b.reopen()
	b.start()
	b.must(r, bob, approvals.Approve, "")
	b.reaches(second, approvals.RunDone)
	b.sent(p, "please", "pay done", "please", "pay done")
}

// TestForgottenConversation sends everything again when the provider has forgotten it: while the run waits, and
// between two runs.
func TestForgottenConversation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := &provider{kept: map[string][]string{}}
	b.keeping(p, true)
	b.start()
	first := b.submit()
	r := b.question(first)
	p.forget()
	b.must(r, bob, approvals.Approve, "")
	b.reaches(first, approvals.RunDone)
	p.forget()
	b.paid()
	b.sent(p, "please", "please|pay|pay done", "please|pay|pay done|answer 2|please", "pay done")
}

// TestForgottenBeforeACall has the provider forget the conversation before a run whose first call asks nobody: what the
// call's intent saves begins where the store has nothing yet.
func TestForgottenBeforeACall(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := &provider{kept: map[string][]string{}, tool: "note"}
	b.keeping(p, true)
	b.start()
	b.reaches(b.submit(), approvals.RunDone)
	p.forget()
	b.reaches(b.submit(), approvals.RunDone)
	b.sent(p, "please", "note done", "please|note|note done|answer 2|please", "note done")
}

// TestConversationAfterACancelledRun goes on from the last run that was finished: what came after it is sent, with an
// output for every call.
func TestConversationAfterACancelledRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := &provider{kept: map[string][]string{}}
	b.keeping(p, true)
	b.start()
	b.paid()
	second := b.submit()
	b.question(second)
	if _, err := b.service.CancelRun(t.Context(), ws, second, ann, "no"); err != nil {
		t.Fatal(err)
	}
	b.paid()
	const noResult = "There is no result: the run ended before this call was decided or had finished."
	b.sent(p, "please", "pay done", "please", "please|pay|"+noResult+"|please", "pay done")
}

// TestConversationGivenUp sends everything once the agents file has the provider keep nothing any more, also in a run
// that waited meanwhile, and the provider is given all of it when it keeps the conversation again.
func TestConversationGivenUp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := &provider{kept: map[string][]string{}}
	b.keeping(p, true)
	b.start()
	first := b.submit()
	r := b.question(first)
	b.keeping(p, false)
	b.must(r, bob, approvals.Approve, "")
	b.reaches(first, approvals.RunDone)
	b.keeping(p, true)
	b.paid()
	b.sent(p, "please", "please|pay|pay done", "please|pay|pay done|answer 2|please", "pay done")
}

// TestConversationStopsOnATool has a run whose answer is a tool's output, which the provider has not seen: the next run
// sends it.
func TestConversationStopsOnATool(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := &provider{kept: map[string][]string{}}
	b.agents.set(approvals.AgentConfig{ProviderConversation: true, Agent: &agent.Agent{
		Name: "ops", Model: p, Tools: b.tools(), ToolUse: agent.ToolUseBehavior{StopOnFirst: true},
	}})
	b.start()
	b.paid()
	b.paid()
	b.sent(p, "please", "pay done|please")
}

// TestRefusedInputLeavesNoTrace has a guardrail refuse what somebody says: the conversation goes on from before it.
func TestRefusedInputLeavesNoTrace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := &provider{kept: map[string][]string{}}
	var refusing atomic.Bool
	a := &agent.Agent{Name: "ops", Model: p, Tools: b.tools(), InputGuardrails: []agent.InputGuardrail{
		{Name: "switch", Check: func(context.Context, *agent.Agent, []agent.Item) (guardrail.Verdict, error) {
			if refusing.Load() {
				return guardrail.Verdict{Action: guardrail.Trip}, nil
			}
			return guardrail.Verdict{}, nil
		}},
	}}
	b.agents.set(approvals.AgentConfig{Agent: a, ProviderConversation: true})
	b.start()
	b.paid()
	refusing.Store(true)
	b.reaches(b.submit(), approvals.RunFailed)
	refusing.Store(false)
	b.paid()
	b.sent(p, "please", "pay done", "What was said here was refused by a guardrail and is left out.|please", "pay done")
}
