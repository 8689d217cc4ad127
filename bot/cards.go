package bot

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

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
}

// newCard renders the request as it stands: the question while it is pending, the outcome afterwards.
func newCard(r *approvals.Request) card {
	if r.Status != approvals.RequestPending {
		return settledCard(r)
	}
	return card{text: cardText(r), blocks: pendingBlocks(r, true), whole: true}.fitted(r)
}

// fitted returns the card encoded, or a shorter one when a message cannot hold it.
func (c card) fitted(r *approvals.Request) card {
	raw, ok := fitted(c.blocks)
	if !ok {
		return c.shortened(r)
	}
	c.encoded = raw
	return c
}

// shortened returns the card with less of the call, for when Slack does not take all of it.
func (c card) shortened(r *approvals.Request) card {
	c.whole, c.encoded = false, nil
	if r.Status == approvals.RequestPending {
		c.blocks = pendingBlocks(r, false)
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
	for _, part := range r.Tool.Binding {
		size += len(part)
	}
	a := r.Requirement.Approvers
	return r.Status == approvals.RequestPending && size <= most && len(r.Tool.Binding) <= 10 &&
		len(a.Users)+len(a.Groups) <= 10 && len(r.Decisions) <= 5
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
	if r.Kind == agent.OutcomeUnknown {
		return phrase{"Outcome unknown: did ", toolName(r), " run? Asked for by ", r.Requester}
	}
	return phrase{"Approval needed: ", toolName(r), ", asked for by ", r.Requester}
}

// pendingBlocks renders a question. When whole is false the call is too large for a message, and only its beginning
// is shown.
func pendingBlocks(r *approvals.Request, whole bool) []slack.Block {
	blocks := []slack.Block{header(question(r)), paragraph(aboutCall(r)...)}
	if r.Kind == agent.OutcomeUnknown {
		blocks = append(blocks, paragraph(phrase{
			"This call was begun, and no answer to it was recorded: the bot stopped meanwhile, or the other side did not reply. It may or may not have happened. Find out first, then choose.",
		}))
	}
	if whole {
		blocks = append(blocks, callBlocks(r)...)
	} else {
		blocks = append(blocks, excerptBlocks(r)...)
	}
	blocks = append(blocks, paragraph(terms(r)...))
	for _, row := range cardButtons(r, whole) {
		blocks = append(blocks, slack.NewActionBlock("", row...))
	}
	return stamp(blocks, blockPrefix(r))
}

func question(r *approvals.Request) string {
	if r.Kind == agent.OutcomeUnknown {
		return "Outcome unknown"
	}
	return "Approval needed"
}

// aboutCall names tool, agent and requester.
func aboutCall(r *approvals.Request) []phrase {
	return []phrase{
		{"Tool ", code(toolName(r)), " (", label(string(r.Tool.Kind), 40), "), called by agent ", strong(agentPath(r))},
		{"Asked for by ", r.Requester},
	}
}

func toolName(r *approvals.Request) string { return label(r.Tool.Name, 80) }

func agentPath(r *approvals.Request) string {
	path := r.Path
	if len(path) == 0 {
		path = []string{r.Agent}
	}
	return label(strings.Join(path, " > "), 200)
}

// callText is everything about the call that a decision is bound to and that differs between calls: what the tool is
// bound to, and the arguments. Both are rendered visible.
type callText struct {
	binding, arguments string
	escaped            bool
}

func newCallText(r *approvals.Request) callText {
	var t callText
	rendered := make([]string, len(r.Tool.Binding))
	for i, part := range r.Tool.Binding {
		out, escaped := visible(part, oneLine)
		rendered[i] = out
		t.escaped = t.escaped || escaped
	}
	t.binding = strings.Join(bindingLines(r.Tool.Kind, rendered), "\n")
	out, escaped := visible(string(r.Arguments), oneLine)
	t.arguments, t.escaped = out, t.escaped || escaped
	return t
}

// bindingLines puts a tool's binding on lines. That of an HTTP tool is method, URL, and the names of headers.
func bindingLines(kind agent.ToolKind, parts []string) []string {
	if kind != agent.KindHTTP || len(parts) < 2 {
		return parts
	}
	lines := []string{parts[0] + " " + parts[1]}
	for _, name := range parts[2:] {
		lines = append(lines, "Header "+name)
	}
	return lines
}

// callBlocks shows the whole call.
func callBlocks(r *approvals.Request) []slack.Block {
	t := newCallText(r)
	var blocks []slack.Block
	if t.escaped {
		blocks = append(blocks, paragraph(hiddenWarning()))
	}
	if t.binding != "" {
		blocks = append(blocks, paragraph(phrase{strong("Sends to")}))
		for _, piece := range pieces(t.binding, maxElement) {
			blocks = append(blocks, verbatim(piece))
		}
	}
	blocks = append(blocks, paragraph(phrase{strong("Arguments"), ", complete"}))
	for _, piece := range pieces(t.arguments, maxElement) {
		blocks = append(blocks, verbatim(piece))
	}
	return blocks
}

func hiddenWarning() phrase {
	return phrase{
		strong("Careful: "), `this call contains invisible, misleading or padding characters. They are written out as \u{…}.`,
	}
}

// excerptBlocks shows the beginning of a call that is too large for a message and says so.
func excerptBlocks(r *approvals.Request) []slack.Block {
	const shown = 1200
	t := newCallText(r)
	whole := t.arguments
	if t.binding != "" {
		whole = t.binding + "\n" + whole
	}
	first := pieces(whole, shown)[0]
	blocks := []slack.Block{
		paragraph(phrase{
			strong("Too large for a card."),
			fmt.Sprintf(" This is the beginning, %d of %d characters. ", units(first), units(whole)),
			strong("Show details"), " has all of it, and approving is offered at its end.",
		}),
		verbatim(first),
	}
	if t.escaped {
		blocks = append(blocks, paragraph(hiddenWarning()))
	}
	return blocks
}

// terms says who may decide, until when, how far it is, and which call this is.
func terms(r *approvals.Request) []phrase {
	lines := []phrase{append(phrase{"Who decides: "}, whoDecides(r.Requirement)...)}
	if r.Expires.IsZero() {
		lines = append(lines, phrase{"No deadline"})
	} else {
		lines = append(lines, phrase{"Deadline: ", r.Expires})
	}
	for _, d := range r.Decisions {
		lines = append(lines, phrase{"So far: ", verdictWord(d.Verdict), " by ", d.By})
	}
	return append(lines, fingerprint(r))
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

// mayAlways reports whether the policy allows a standing answer for the run.
func mayAlways(r *approvals.Request) bool {
	return r.Kind != agent.OutcomeUnknown && slices.Contains(r.Requirement.Always, approvals.ScopeRun)
}

// span says how long something took.
func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days", int(d.Hours())/24)
}
