package bot

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/approvals"
)

// cardEvent is the metadata type of every message that shows a request.
const cardEvent = "countersign_approval"

// card is a message about a request.
type card struct {
	text   phrase // for notifications and screen readers; never holds argument values
	blocks []slack.Block
	// encoded are the blocks as Slack takes them, when it was necessary to find out how large they are.
	encoded json.RawMessage
	// whole says that the card shows the complete call, so that it may offer to approve it.
	whole bool
	// bare says that it shows nothing of the call, because people of other organisations read it.
	bare bool
}

// newCard renders the request as it stands: the question while it is pending, the outcome afterwards.
func newCard(r *approvals.Request) card {
	if r.Status != approvals.RequestPending {
		return settledCard(r)
	}
	c := card{text: cardText(r)}
	call := newCallText(r)
	for _, d := range []detail{everything, briefly, barely, opening} {
		c.blocks, c.whole = pendingBlocks(r, call, d), d.whole() && !r.RevealFirst()
		var ok bool
		if c.encoded, ok = fitted(c.blocks); ok {
			return c
		}
	}
	return c.shortened(r)
}

// shortened returns the card with less of the call, for when Slack does not take all of it.
func (c card) shortened(r *approvals.Request) card {
	c.whole, c.encoded = false, nil
	if r.Status == approvals.RequestPending {
		c.blocks = pendingBlocks(r, newCallText(r), openingOnly)
	} else {
		c.blocks = settledBlocks(r, false)
	}
	return c
}

// showsWhole reports whether the request's card shows the complete call.
func showsWhole(r *approvals.Request) bool { return surelyWhole(r) || newCard(r).whole }

// surelyWhole reports whether the request is so small that its card shows the complete call whatever is in it, which is
// so of nearly all and cheaper to find out than by rendering.
func surelyWhole(r *approvals.Request) bool {
	const most = 400 // bytes of a call; written out and encoded, each of them takes up to seven
	size := len(r.Arguments)
	for _, part := range slices.Concat(r.Tool.Binding, r.Facts) {
		size += len(part)
	}
	if policyChanged(r) || r.IsQuestion() || r.Requirement.Escalation.After > 0 || r.Original != nil ||
		len(r.Inherited)+len(r.Fields)+len(r.Secret) > 0 { // more is said of it
		return false
	}
	named := 0
	for _, seat := range r.Requirement.Seats {
		named += 1 + len(seat.Approvers.Users) + len(seat.Approvers.Groups)
	}
	return r.Status == approvals.RequestPending && size <= most && len(r.Tool.Binding)+len(r.Facts) <= 10 &&
		named <= 10 && len(r.Decisions) <= 5
}

// fits reports whether a message may hold the blocks.
func fits(blocks []slack.Block) bool {
	_, ok := fitted(blocks)
	return ok
}

// fitted encodes blocks and reports whether a message may hold them.
func fitted(blocks []slack.Block) (json.RawMessage, bool) {
	raw, err := encodeBlocks(blocks)
	return raw, err == nil && len(blocks) <= maxBlocks && len(raw) <= maxMessage
}

func cardText(r *approvals.Request) phrase {
	if r.IsQuestion() {
		return phrase{"A question for people: ", toolName(r), ", asked for by ", r.Requester}
	}
	switch r.Kind {
	case agent.OutcomeUnknown:
		return phrase{"Outcome unknown: did ", toolName(r), " run? Asked for by ", r.Requester}
	case agent.ExternalResult:
		return phrase{"A result is needed: ", toolName(r), ", asked for by ", r.Requester}
	case agent.FieldsRequired:
		return phrase{"Values are needed: ", toolName(r), ", asked for by ", r.Requester}
	}
	return phrase{"Approval needed: ", toolName(r), ", asked for by ", r.Requester}
}

// pendingBlocks renders a question.
func pendingBlocks(r *approvals.Request, call callText, d detail) []slack.Block {
	blocks := append([]slack.Block{header(question(r))}, questionBlocks(r)...)
	blocks = append(blocks, paragraph(aboutCall(r)...))
	if words := whatToDo(r); words != nil {
		blocks = append(blocks, paragraph(words))
	}
	if sending := sendingLine(r); sending != nil {
		blocks = append(blocks, paragraph(sending))
	}
	blocks = append(blocks, call.blocks(d)...)
	blocks = append(blocks, paragraph(terms(r)...))
	for _, row := range cardButtons(r, d.whole()) {
		blocks = append(blocks, slack.NewActionBlock("", row...))
	}
	return stamp(blocks, blockPrefix(r))
}

func question(r *approvals.Request) string {
	if r.IsQuestion() {
		return "A question: " + toolName(r)
	}
	switch r.Kind {
	case agent.OutcomeUnknown:
		return "Outcome unknown"
	case agent.ExternalResult:
		return "A result is needed: " + toolName(r)
	case agent.FieldsRequired:
		return "Values are needed: " + toolName(r)
	}
	return "Approval needed"
}

// whatToDo explains the questions that are not about letting a call run.
func whatToDo(r *approvals.Request) phrase {
	if r.IsQuestion() {
		return howToAnswer(r)
	}
	switch r.Kind {
	case agent.OutcomeUnknown:
		return phrase{"This call was begun, and no answer to it was recorded: the bot stopped meanwhile, " +
			"or the other side did not reply. It may or may not have happened. Find out first, then choose."}
	case agent.ExternalResult:
		if r.Trigger != nil {
			return phrase{"Nothing runs here: another system carries this call out, " +
				"and the agent waits to be told what came of it. " +
				"Provide the result if you know it, or reject the call if nobody will carry it out."}
		}
		return phrase{"Nothing runs here: somebody carries this call out elsewhere, " +
			"and the agent waits to be told what came of it. " +
			"Provide the result once it is there, or reject the call if nobody will carry it out."}
	case agent.FieldsRequired:
		return phrase{"Somebody has to fill in values before the call can go on. Fill them in on the command line: ",
			code("countersign approvals decide " + string(r.ID) + " --input NAME=VALUE --as USER"),
			". What the model proposes stands where no other value is given. Reject the call if nobody will."}
	}
	return nil
}

// sendingLine says how far the call has come on its way to the system that carries it out; nil where none is told.
func sendingLine(r *approvals.Request) phrase {
	if text := r.Sending(); text != "" {
		return phrase{label(text, 500)}
	}
	return nil
}

// aboutCall names tool, agent and requester.
func aboutCall(r *approvals.Request) []phrase {
	tool := phrase{"Tool ", code(toolName(r)), " (", label(string(r.Tool.Kind), 40), "), called by agent "}
	return append([]phrase{append(tool, caller(r)...), {"Asked for by ", r.Requester}}, changedBy(r)...)
}

// changedBy names the people who made the call what it is, and the request that their change took the place of.
func changedBy(r *approvals.Request) []phrase {
	if len(r.Editors) == 0 {
		return nil
	}
	line := phrase{"Arguments changed or filled in by "}
	for i, u := range r.Editors {
		line = append(line, []any{"", ", ", " and "}[joint(i, len(r.Editors))], u)
	}
	if !r.Requirement.SelfApproval {
		line = append(line, ", not deciding about it")
	}
	if r.Supersedes != "" {
		line = append(line, "; this follows ", code(string(r.Supersedes)))
	}
	return []phrase{line}
}

func toolName(r *approvals.Request) string { return label(r.Tool.Name, 80) }

// caller names the agent that made the call, and those that use it as a tool.
func caller(r *approvals.Request) phrase {
	path := slices.Clone(r.Path)
	if len(path) == 0 {
		path = []string{r.Agent}
	}
	slices.Reverse(path)
	p := phrase{strong(label(path[0], 200))}
	if len(path) > 1 {
		p = append(p, ", used by "+label(strings.Join(path[1:], ", used by "), 200))
	}
	return p
}

// terms says who may decide, until when, how far it is, and which call this is.
func terms(r *approvals.Request) []phrase {
	lines := append(whoAnswers(r), freezes(r)...)
	if r.Expires.IsZero() {
		lines = append(lines, phrase{"No deadline"})
	} else {
		lines = append(lines, phrase{"Deadline: ", r.Expires})
	}
	return append(append(lines, soFar(r)...), fingerprint(r))
}

// fingerprint identifies the call on every surface.
func fingerprint(r *approvals.Request) phrase {
	return phrase{
		"Digest ", code(hex.EncodeToString(r.Digest[:8])), fmt.Sprintf(", %d bytes of arguments, ", len(r.Arguments)),
		code(string(r.ID)),
	}
}

// blockPrefix changes with every version of the request and carries the digest of what the blocks show: a click brings
// it back.
func blockPrefix(r *approvals.Request) string {
	return shownPrefix + r.Digest.String() + "." + strconv.FormatInt(r.Version, 10)
}

const shownPrefix = "shown."

// shownDigest reads the digest that stamp wrote into a block id.
func shownDigest(blockID string) (agent.Digest, bool) {
	rest, ok := strings.CutPrefix(blockID, shownPrefix)
	if !ok {
		return agent.Digest{}, false
	}
	hexed, _, _ := strings.Cut(rest, ".")
	return parseDigest(hexed)
}

func parseDigest(s string) (agent.Digest, bool) {
	var d agent.Digest
	err := d.UnmarshalText([]byte(s))
	return d, err == nil
}

// metadata is what finds a card again and ties a click to what was shown.
func (c card) metadata(r *approvals.Request) slack.SlackMetadata {
	return slack.SlackMetadata{EventType: cardEvent, EventPayload: map[string]any{
		"request": string(r.ID), "digest": r.Digest.String(), "status": string(r.Status),
	}}
}

// mayAlways reports whether the policy allows a standing answer for the run, and allowed one when it was asked.
func mayAlways(r *approvals.Request) bool {
	return r.Kind == agent.Confirm && r.AskedDigest == (agent.Digest{}) &&
		slices.Contains(r.Requirement.Always, approvals.ScopeRun) &&
		(r.Progress == nil || slices.Contains(r.Progress.Current.Always, approvals.ScopeRun))
}
