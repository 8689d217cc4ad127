package approvals

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"countersign/agent"
)

// callFate is what is known of a call that was begun: what its effect says or, where that is silent, what people said
// who were asked about it.
type callFate struct {
	*EffectRecord
	outcome  Outcome
	question *RequestHead // what became of it, when that was asked since the effect was begun
}

// fates returns what is known of the calls of a run that ends. working says that a worker may be at work on the run:
// its calls may still finish. Of every other open call nobody will hear again, and that is recorded at once.
func (c *txn) fates(r *Run, requests []*RequestHead, working bool) ([]callFate, error) {
	effects, err := c.EffectsOfRun(c.ws, r.ID)
	if err != nil {
		return nil, err
	}
	calls := make([]callFate, 0, len(effects))
	for _, e := range effects {
		if e.Kind == agent.KindAgent {
			continue
		}
		f := fateOf(e, requests)
		if f.outcome == OutcomeRunning && (!working || e.Epoch != r.Epoch) {
			if err := c.giveUp(e); err != nil {
				return nil, err
			}
			f.outcome = OutcomeUnknown
		}
		calls = append(calls, f)
	}
	return calls, nil
}

// fateOf returns what is known of one call.
func fateOf(e *EffectRecord, requests []*RequestHead) callFate {
	f := callFate{EffectRecord: e, outcome: e.Outcome()}
	if !e.Done.IsZero() {
		return f
	}
	for _, q := range requests {
		if q.Kind != agent.OutcomeUnknown || q.Interruption != e.Interruption {
			continue
		}
		d := q.Settler()
		last := d != nil && d.Verdict.tells() // nothing is begun after such an answer, whatever the clock said
		if !last && (q.Created.Before(e.Intent) || f.question != nil && f.question.Created.After(q.Created)) {
			continue
		}
		f.question, f.outcome = q, OutcomeUnknown
		if last && d.Verdict == MarkDone {
			f.outcome = OutcomeRan
		}
		if last {
			break
		}
	}
	return f
}

// Known is Outcome and, where the tool has not said it, what people have found out, as the requests of the run say.
func (e *EffectRecord) Known(requests []*RequestHead) Outcome { return fateOf(e, requests).outcome }

// giveUp records that nobody knows what came of the effect. Should it finish after all, that is told then.
func (c *txn) giveUp(e *EffectRecord) error {
	e.GivenUp = true
	if err := c.PutEffect(e); err != nil {
		return err
	}
	given, err := c.effectEntry(e, AuditEffectUnknown)
	if err != nil {
		return err
	}
	if err := c.audit(given); err != nil {
		return err
	}
	return c.callBecame(e.Run, e.Interruption, OutcomeUnknown)
}

// expiredLast returns the requests that nobody answered in time and of which the run has not heard.
func expiredLast(requests []*RequestHead) (list []RequestID) {
	for _, q := range requests {
		if q.Status == RequestExpired && !q.Applied {
			list = append(list, q.ID)
		}
	}
	return list
}

// callNames names the calls of a run for people: by their tool, and where the run has other calls of the same tool, by
// the request about them too, if people were asked.
type callNames struct {
	calls    map[string]map[string]bool // the calls of a tool, as the ids of the questions about them
	requests map[string]RequestID       // by the id of the question
}

func nameCalls(requests []*RequestHead, effects []*EffectRecord) callNames {
	n := callNames{calls: make(map[string]map[string]bool), requests: make(map[string]RequestID)}
	add := func(tool, interruption string) {
		if n.calls[tool] == nil {
			n.calls[tool] = make(map[string]bool)
		}
		n.calls[tool][interruption] = true
	}
	for _, q := range requests {
		add(q.Tool.Name, q.Interruption)
		if q.Kind != agent.OutcomeUnknown || n.requests[q.Interruption] == "" { // the newest that shows the call
			n.requests[q.Interruption] = q.ID
		}
	}
	for _, e := range effects {
		add(e.Tool, e.Interruption)
	}
	return n
}

func (n callNames) of(tool, interruption string) string {
	if id := n.requests[interruption]; id != "" && len(n.calls[tool]) > 1 {
		return fmt.Sprintf("%s (%s)", tool, id)
	}
	return tool
}

// callName names the call of an effect.
func (c *txn) callName(e *EffectRecord) (string, error) {
	requests, err := c.requestsOf(e.Run)
	if err != nil {
		return "", err
	}
	effects, err := c.EffectsOfRun(c.ws, e.Run)
	if err != nil {
		return "", err
	}
	return nameCalls(requests, effects).of(e.Tool, e.Interruption), nil
}

// account says, for people, what came of the calls of a run that has ended without its answer.
func account(requests []*RequestHead, unanswered []RequestID, calls []callFate) (sentences []string) {
	effects := make([]*EffectRecord, len(calls))
	for i, f := range calls {
		effects[i] = f.EffectRecord
	}
	names := nameCalls(requests, effects)
	said := make(map[Outcome][]string)
	for _, f := range calls {
		name := names.of(f.Tool, f.Interruption)
		if words := f.inWords(); words != "" && !f.Done.IsZero() {
			name += " (" + words + ")"
		}
		said[f.outcome] = append(said[f.outcome], name)
	}
	var elsewhere, sent []string
	for _, q := range requests {
		ended := q.Status == RequestCancelled || q.Status == RequestApproved || slices.Contains(unanswered, q.ID)
		switch {
		case !ended:
		case q.asksToRun() && q.Outcome == OutcomeNotRun:
			said[OutcomeNotRun] = append(said[OutcomeNotRun], names.of(q.Tool.Name, q.Interruption))
		case q.Kind == agent.ExternalResult && q.Outcome == OutcomeUnknown && q.Trigger != nil:
			sent = append(sent, names.of(q.Tool.Name, q.Interruption)+": "+q.Trigger.ended())
		case q.Kind == agent.ExternalResult && q.Outcome == OutcomeUnknown:
			elsewhere = append(elsewhere, names.of(q.Tool.Name, q.Interruption))
		}
	}
	for _, part := range []struct {
		lead  string
		tools []string
		tail  string
	}{
		{wordsRanBefore, said[OutcomeRan], "."},
		{wordsFailedBefore, said[OutcomeFailed], "."},
		{wordsStillRunningNow, said[OutcomeRunning], wordsToldLater},
		{wordsUnknownWhether, said[OutcomeUnknown], "."},
		{wordsNobodyReported, elsewhere, "."},
		{wordsNotCarriedOut, said[OutcomeNotRun], "."},
	} {
		if len(part.tools) > 0 {
			sentences = append(sentences, part.lead+counted(part.tools)+part.tail)
		}
	}
	return append(sentences, sent...)
}

// asksToRun reports whether r is the last question that stood between the call and its execution.
func (r *RequestHead) asksToRun() bool {
	return r.Kind == agent.Confirm || r.Kind == agent.FieldsRequired && r.SupersededBy == ""
}

// counted lists names in the order in which they first appear, with how often where that is more than once.
func counted(names []string) string {
	var words []string
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			continue
		}
		n := 0
		for _, other := range names[i:] {
			if other == name {
				n++
			}
		}
		if n > 1 {
			name = wordsTimes(name, n)
		}
		words = append(words, name)
	}
	return strings.Join(words, ", ")
}

// outputOf says what is known of a call of the run's own conversation that has no output there, or that the model's
// provider was told to carry out and has not answered.
func outputOf(call agent.Item, calls []callFate) agent.ToolOutput {
	var newest *callFate
	for i, f := range calls {
		if f.Call == call.CallID && f.outermost() && (newest == nil || f.Intent.After(newest.Intent)) {
			newest = &calls[i]
		}
	}
	text := unfinishedText
	switch {
	case newest == nil:
	case call.Type == agent.ItemMCPApprovalRequest:
		text = newest.instead()
	case newest.Output != nil:
		return *newest.Output
	case newest.outcome == OutcomeRan:
		return agent.ToolOutput{Text: foundOut(newest.question.Settler().Reason)}
	case newest.outcome == OutcomeRunning:
		text = stillRunningText
	default:
		text = unknownText
	}
	return agent.ToolOutput{Text: text, Failed: call.Type != agent.ItemFunctionCall}
}

// instead is what a provider reads, in the place of an approval, about a call that it was told to carry out.
func (f *callFate) instead() string {
	switch {
	case f.outcome == OutcomeRan && f.question != nil:
		return foundOut(f.question.Settler().Reason)
	case f.Output == nil || f.Output.Text == approvedText:
		return unknownText
	case f.Output.Failed:
		return providerFailedText + quote(f.Output.Text)
	}
	return providerRanText + quote(f.Output.Text)
}

// outermost reports whether the call was made in the run's own conversation, not in that of an agent used as a tool:
// providers' ids of calls are unique only within a conversation. The id of an outermost call's question has three parts
// (agent, turn, call); records of earlier releases have none.
func (e *EffectRecord) outermost() bool {
	return e.Interruption == "" || strings.Count(e.Interruption, "/") == 2
}

// memorize appends what is known of a call after its run has ended to the memory of the place, once under each word.
func (c *txn) memorize(r *Run, e *EffectRecord, word, text string) error {
	chunk, err := json.Marshal([]agent.Item{{Type: agent.ItemMessage, Role: agent.RoleDeveloper, Text: text}})
	if err != nil {
		return fmt.Errorf("memory of effect %s: %w", e.ID, err)
	}
	return c.AppendSession(r.Workspace, r.Place, string(r.ID)+"/"+e.ID+word, chunk)
}

// giveUpOpen gives up those calls of the ended run that which chooses and that are still taken to be running. It tells
// the place, with why at the end, and its memory.
func (c *txn) giveUpOpen(r *Run, why string, which func(*EffectRecord) bool) error {
	open, err := c.giveUpRunning(r, why, func(e *EffectRecord) bool { return e.Kind != agent.KindAgent && which(e) })
	if err != nil {
		return err
	}
	for _, e := range open {
		text := fmt.Sprintf("It is not known whether the call %s of %s was carried out, which was still running when "+
			"its run ended.", e.Call, e.Tool)
		if err := c.memorize(r, e, "/unknown", text); err != nil {
			return err
		}
	}
	return nil
}

// giveUpBroken gives up those calls of the run that broke off and that nobody is asked about, as open has the calls of
// which people are: their tools do not take them any more, which the model reads.
func (c *txn) giveUpBroken(r *Run, open []agent.Interruption) error {
	_, err := c.giveUpRunning(r, wordsNotTakenAnyMore, func(e *EffectRecord) bool {
		asked := slices.ContainsFunc(open, func(in agent.Interruption) bool { return in.ID == e.Interruption })
		return !asked && !e.carriedOutElsewhere()
	})
	return err
}

// giveUpRunning gives up those calls of the run that which chooses and that are still taken to be running, and returns
// them. It tells the place, with why at the end.
func (c *txn) giveUpRunning(
	r *Run, why string, which func(*EffectRecord) bool,
) (running []*EffectRecord, err error) {
	effects, err := c.EffectsOfRun(c.ws, r.ID)
	if err != nil {
		return nil, err
	}
	requests, err := c.requestsOf(r.ID)
	if err != nil {
		return nil, err
	}
	names := nameCalls(requests, effects)
	var named []string
	for _, e := range effects {
		if fateOf(e, requests).outcome != OutcomeRunning || !which(e) {
			continue
		}
		running, named = append(running, e), append(named, names.of(e.Tool, e.Interruption))
		if err := c.giveUp(e); err != nil {
			return nil, err
		}
	}
	if len(named) > 0 {
		c.say(r, wordsUnknownWhether+counted(named)+". "+why)
	}
	return running, nil
}
