package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"countersign/agent/internal/strictjson"
)

// What a session says of calls that had no output when the run ended with an error.
const (
	textEndedBefore  = "This call was not carried out: the run ended with an error first."
	textEndedInDoubt = "The run ended with an error, and it is not known whether this call was carried out."
	textEndedAfter   = "This call was carried out, but the run ended with an error before its output could be used."
	textEndedInside  = "The agent had begun and did not finish: the run ended with an error. Calls that it made may " +
		"have been carried out."
)

// sessionWriter collects what goes to a session.
type sessionWriter struct {
	frame *frame
	ready []Item
	mark  sessionMark
}

// add takes the item at the index. The output of a call that the session has with an output already is left out, or,
// if that was a sentence, stands there with the call once more.
func (w *sessionWriter) add(i int) {
	it := w.frame.items[i]
	if !it.IsOutput() {
		w.ready = append(w.ready, it)
		return
	}
	at := w.frame.callsByID[it.CallID].item
	switch {
	case drop(&w.mark.Answered, at):
	case drop(&w.mark.Closed, at) || drop(&w.mark.Doubted, at):
		w.onceMore(at, &it, "output")
	default:
		w.ready = append(w.ready, it)
	}
}

// drop takes a number out of an ascending list, and reports whether it was there.
func drop(list *[]int, n int) bool {
	at, found := slices.BinarySearch(*list, n)
	if found {
		*list = slices.Delete(*list, at, at+1)
	}
	return found
}

// closeCalls gives the calls that have no output in the session one, and says once more what became of those that it
// has as not carried out, if that is not so any more.
func (w *sessionWriter) closeCalls() {
	f := w.frame
	for _, i := range f.openBefore(w.mark.Saved) {
		if slices.Contains(w.mark.Doubted, i) || slices.Contains(w.mark.Answered, i) {
			continue
		}
		it := &f.items[i]
		out, final := f.fate(it)
		output := answer(it, f.agent, out)
		begun := final || out.Text != textEndedBefore
		switch closed := slices.Contains(w.mark.Closed, i); {
		case closed && !begun:
			continue
		case closed:
			drop(&w.mark.Closed, i)
			w.onceMore(i, &output, "doubt")
		default:
			w.ready = append(w.ready, output)
		}
		switch {
		case final:
			w.mark.Answered = append(w.mark.Answered, i)
		case begun:
			w.mark.Doubted = append(w.mark.Doubted, i)
		default:
			w.mark.Closed = append(w.mark.Closed, i)
		}
	}
	slices.Sort(w.mark.Answered)
	slices.Sort(w.mark.Doubted)
	slices.Sort(w.mark.Closed)
}

// doubtApprovals says of calls that the provider was told to carry out, and did not answer, that nothing is known of
// them: it would carry them out when it reads of the approval again, in another run.
func (w *sessionWriter) doubtApprovals() {
	said := ModelRequest{Items: w.ready}
	for _, i := range said.OpenApprovals() {
		it := &w.ready[i]
		asked := &w.frame.items[w.frame.callsByID[it.CallID].item]
		*it = answer(asked, it.Agent, ToolOutput{Text: textEndedInDoubt, Failed: true})
	}
}

// openBefore returns the indexes of the run's calls before the end that have no output there.
func (f *frame) openBefore(end int) []int {
	answered := make(map[string]bool)
	for i := end - 1; i >= f.input; i-- {
		if f.items[i].IsOutput() && !f.copied(i) {
			answered[f.items[i].CallID] = true
		}
	}
	var open []int
	for i := f.input; i < end; i++ {
		if it := &f.items[i]; it.IsCall() && !f.copied(i) && !answered[it.CallID] {
			open = append(open, i)
		}
	}
	return open
}

// fate returns the output of a call that the items do not have yet, and whether it is the one that they will have; else
// a sentence about what is known of the call.
func (f *frame) fate(it *Item) (out ToolOutput, final bool) {
	n := slices.IndexFunc(f.calls, func(c *call) bool { return c.ID == it.CallID && c.State != callDone })
	text := textEndedAfter // it is over, and its output is not to be read
	if n >= 0 {
		c := f.calls[n]
		if c.Output != nil {
			return *c.Output, true
		}
		text = c.fate()
	}
	return ToolOutput{Text: text, Failed: it.Type != ItemFunctionCall}, false
}

// fate says what is known of a call without an output.
func (c *call) fate() string {
	cleared := c.State == callCleared
	switch {
	case c.Nested != nil:
		return textEndedInside
	case cleared && c.recorded && c.carriedOut:
		return textEndedAfter
	case c.begun, cleared && !c.recorded, c.Question == OutcomeUnknown, c.Question == ExternalResult:
		return textEndedInDoubt
	}
	return textEndedBefore
}

// accepted returns how many of the items other runs may read: not an answer that is still to be checked, nor the
// outputs that it was made of.
func (f *frame) accepted() int {
	end := len(f.items)
	if f.answer == nil {
		return end
	}
	for end > f.input && f.items[end-1].IsOutput() && !f.copied(end-1) {
		end--
	}
	if end < len(f.items) {
		return end
	}
	for end > f.input && f.spoken(end-1) {
		end--
	}
	return end
}

// spoken reports whether the item at the index is of a model's response, and no call.
func (f *frame) spoken(i int) bool {
	it := &f.items[i]
	return it.Agent != "" && !it.IsCall() && !it.IsOutput() && !f.copied(i)
}

// onceMore adds the call at the index, and the output, as a call of its own; why tells several such apart. What a
// provider asked approval for cannot be asked by anybody else, so of that nothing is added.
func (w *sessionWriter) onceMore(at int, output *Item, why string) {
	asked := &w.frame.items[at]
	sum := sha256.Sum256([]byte(w.frame.state.id + "\x00" + asked.CallID + "\x00" + why))
	id := "again_" + hex.EncodeToString(sum[:12])
	if asked.Type == ItemFunctionCall {
		w.ready = append(w.ready,
			Item{Type: asked.Type, CallID: id, Name: asked.Name, Arguments: asked.Arguments, Agent: asked.Agent},
			Item{Type: output.Type, CallID: id, Output: output.Output, Agent: output.Agent})
		return
	}
	call, err := asked.renamed(id)
	if err != nil || asked.Type == ItemMCPApprovalRequest {
		return
	}
	if answer, err := output.renamed(id); err == nil {
		w.ready = append(w.ready, call, answer)
	}
}

// renamed returns an item that has the provider's form as one of the call with the id.
func (it *Item) renamed(callID string) (Item, error) {
	raw, err := strictjson.Without(it.Raw, "id")
	if err == nil {
		raw, err = strictjson.Set(raw, "call_id", strictjson.AppendQuoted(nil, callID))
	}
	if err != nil {
		return Item{}, err
	}
	own, err := ParseItem(raw)
	own.Agent = it.Agent
	return own, err
}
