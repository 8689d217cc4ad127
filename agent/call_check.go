package agent

import (
	"bytes"
	"cmp"
	"encoding/json"

	"countersign/agent/internal/strictjson"
)

// checkCall returns what is wrong with a saved call, or nothing. It reads the call's arguments from the item.
func (f *frame) checkCall(c *call, e callEntry) string {
	it := &f.items[e.item]
	switch {
	case !c.isOf(it) || it.Agent != f.agent:
		return "it is not what the item says"
	case e.answered != (c.State == callDone):
		return "its state is not what the items say"
	}
	if reason := c.misfit(); reason != "" || c.members()&hasBinding == 0 {
		return reason
	}
	if reason := c.checkQuestion(); reason != "" {
		return reason
	}
	return c.checkDigest(it)
}

// isOf reports whether the call says of its tool what its item does.
func (c *call) isOf(it *Item) bool {
	switch it.Type {
	case ItemFunctionCall, ItemCustomToolCall: // one without a name goes by its form
		return c.Tool == cmp.Or(it.Name, string(it.Type))
	case ItemMCPApprovalRequest:
		return c.Tool == it.Server && c.Tool != ""
	}
	return c.Tool != ""
}

// checkQuestion returns what is wrong between the members of a call that can run, or nothing.
func (c *call) checkQuestion() string {
	switch {
	case c.Definition == nil || c.Digest == nil:
		return "its digests are missing"
	case !knownQuestion[c.Question]:
		return "its question is unknown"
	case c.Attempt < 0, (c.Attempt > 0) != (c.Question == OutcomeUnknown), c.AskedAgain < 0:
		return "its attempt does not fit its question"
	case c.Always && c.Decision != nil:
		return "what cleared it does not fit its state"
	case c.Nested != nil && (c.Output != nil || c.Kind != KindAgent):
		return "only an agent that was let through can be at work"
	case c.Output != nil && c.Output.Native != nil && (c.Kind != KindShell || !isCanonicalJSON(c.Output.Native)):
		return "its output has a form that its tool does not have"
	case c.Decision == nil:
		return ""
	}
	return c.Decision.check(c)
}

// knownQuestion are the kinds of interruptions, and none.
var knownQuestion = map[InterruptionKind]bool{
	"": true, Confirm: true, OutcomeUnknown: true, FieldsRequired: true, ExternalResult: true,
}

// takes says what an approval that answers a question of the kind brings with it.
var takes = map[InterruptionKind]struct{ output, arguments, must bool }{
	Confirm:        {arguments: true},
	OutcomeUnknown: {output: true},
	FieldsRequired: {arguments: true, must: true},
	ExternalResult: {output: true, must: true},
}

// check returns what is wrong with a decision about the call, or nothing.
func (d *decision) check(c *call) string {
	may := takes[c.Question]
	if c.State == callCleared { // what it brought was taken over
		may.output, may.arguments, may.must = false, false, false
	}
	switch brings := d.Output != nil || d.Arguments != nil; {
	case c.Question == "" || c.State == callCleared && !d.Approve:
		return "nobody was asked about it"
	case brings && !d.Approve, d.Output != nil && !may.output, d.Arguments != nil && !may.arguments:
		return "its decision does not fit its question"
	case d.Approve && may.must && !brings:
		return "its decision does not fit its question"
	case d.Arguments != nil && !isCanonical(d.Arguments):
		return "its decision holds arguments that are not usable"
	case d.Output != nil && d.Output.Native != nil:
		return "its decision holds an output that nobody can have given"
	case d.Approve && d.Message != nil:
		return "an approval has no message"
	}
	return ""
}

func isCanonicalJSON(value json.RawMessage) bool {
	canonical, err := strictjson.Canonical(value)
	return err == nil && bytes.Equal(canonical, value)
}

func isCanonical(arguments json.RawMessage) bool {
	canonical, err := strictjson.Arguments(arguments)
	return err == nil && bytes.Equal(canonical, arguments)
}

// checkDigest reads the arguments and compares them with what was bound.
func (c *call) checkDigest(it *Item) string {
	written, err := it.arguments(it.Arguments)
	if err != nil || c.Arguments != nil && !isCanonical(c.Arguments) {
		return "its arguments are not usable"
	}
	c.written = written
	if c.Definition.Call(c.arguments(), c.Preconditions...) != *c.Digest {
		return "its digest is not that of its arguments"
	}
	return ""
}
