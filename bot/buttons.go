package bot

import (
	"fmt"
	"strings"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/approvals"
)

// action is the action_id of a button.
type action string

// The buttons. Their value is the id of the request, nothing else.
const (
	actApprove      action = "approve"
	actReject       action = "reject"
	actAlwaysYes    action = "always_approve"
	actAlwaysNo     action = "always_reject"
	actRejectReason action = "reject_with_reason"
	actDetails      action = "show_details"
	actDetailsNext  action = "details_next"
	actDetailsPrev  action = "details_prev"
	actMarkDone     action = "mark_done"
	actRetry        action = "retry"
	actGiveUp       action = "give_up"
	actProvide      action = "provide_result"
	actCancelRun    action = "cancel_run"
	actReveal       action = "reveal_secret"
	actRevokeGrant  action = "revoke_grant" // its value is the grant's id
	actListNext     action = "list_next"    // the value of this and the next two is a listing
	actListFirst    action = "list_first"
	actListOpen     action = "list_open"
)

// verdicts are the buttons that decide at once.
var verdicts = map[action]approvals.Verdict{
	actApprove: approvals.Approve, actReject: approvals.Reject,
	actAlwaysYes: approvals.AlwaysApprove, actAlwaysNo: approvals.AlwaysReject,
	actRetry: approvals.Retry,
}

// runsCall reports whether pressing the button may make the call run, which only somebody may ask for who was shown
// all of it.
func (a action) runsCall() bool { return a == actApprove || a == actAlwaysYes || a == actRetry }

// cardButtons returns the rows of buttons under a pending request. Without the whole call above them, none of them
// makes it run.
func cardButtons(r *approvals.Request, whole bool) [][]slack.BlockElement {
	rows := decideButtons(r, whole)
	rows[0] = append(rows[0], button(r, actDetails, "Show details", slack.StyleDefault), cancelButton(r))
	return rows
}

// cancelButton ends the run that the request belongs to. A card is one message for everybody, so everybody sees it; the
// service judges who pressed it.
func cancelButton(r *approvals.Request) slack.BlockElement {
	b := confirmed(button(r, actCancelRun, "Cancel run", slack.StyleDefault), slack.StyleDanger,
		"Cancel the run?", "The agent stops, and everything it still waits for is withdrawn.")
	b.Confirm.Deny = plain("Keep running") // "Cancel" would say the opposite of what it does
	return b
}

// decideButtons returns the rows of buttons that answer the question; the first row may be empty.
func decideButtons(r *approvals.Request, whole bool) [][]slack.BlockElement {
	whole = whole && !r.RevealFirst()
	if r.IsQuestion() { // answered on the command line
		return [][]slack.BlockElement{rejectButtons(r)}
	}
	switch r.Kind {
	case agent.Confirm:
		return confirmButtons(r, whole)
	case agent.OutcomeUnknown:
		return unknownButtons(r, whole)
	case agent.ExternalResult:
		return [][]slack.BlockElement{{
			button(r, actProvide, "Provide result", slack.StylePrimary),
			button(r, actReject, "Reject", slack.StyleDanger),
			button(r, actRejectReason, "Reject with reason", slack.StyleDefault),
		}}
	case agent.FieldsRequired: // values are filled in on the command line
		return [][]slack.BlockElement{rejectButtons(r)}
	}
	return [][]slack.BlockElement{nil} // a question that this version cannot take an answer to
}

func rejectButtons(r *approvals.Request) []slack.BlockElement {
	return []slack.BlockElement{
		button(r, actReject, "Reject", slack.StyleDanger),
		button(r, actRejectReason, "Reject with reason", slack.StyleDefault),
	}
}

func confirmButtons(r *approvals.Request, whole bool) [][]slack.BlockElement {
	var first, second []slack.BlockElement
	if whole {
		first = append(first, dropping(r, button(r, actApprove, "Approve", slack.StylePrimary), true))
	}
	first = append(first,
		dropping(r, button(r, actReject, "Reject", slack.StyleDanger), false),
		button(r, actRejectReason, "Reject with reason", slack.StyleDefault))
	if whole && mayAlways(r) {
		always := button(r, actAlwaysYes, "Always approve", slack.StyleDefault)
		second = append(second, confirmed(always, slack.StylePrimary, "Always approve?", alwaysScope(r, true)))
	}
	if mayAlways(r) {
		always := button(r, actAlwaysNo, "Always reject", slack.StyleDefault)
		second = append(second, confirmed(always, slack.StyleDanger, "Always reject?", alwaysScope(r, false)))
	}
	if len(second) == 0 {
		return [][]slack.BlockElement{first}
	}
	return [][]slack.BlockElement{first, second}
}

func unknownButtons(r *approvals.Request, whole bool) [][]slack.BlockElement {
	row := []slack.BlockElement{button(r, actMarkDone, "Mark done", slack.StyleDefault)}
	if whole {
		retry := button(r, actRetry, "Retry", slack.StyleDefault)
		row = append(row, confirmed(retry, slack.StyleDanger, "Run it again?",
			"If the call did happen before, it happens twice. Run it again only if you know that it did not."))
	}
	return [][]slack.BlockElement{append(row, button(r, actGiveUp, "Give up", slack.StyleDefault))}
}

// maxConfirm is how many characters the text of a confirmation may have.
const maxConfirm = 300

// alwaysScope says how far a standing answer reaches, which waiting calls it answers too, and, where others have to
// answer or have answered, what becomes of it.
func alwaysScope(r *approvals.Request, affirm bool) string {
	verb, once := "Approves", "approve"
	if !affirm {
		verb, once = "Rejects", "reject"
	}
	tool, by := label(r.Tool.Name, 48), label(r.Agent, 48)
	before := votesBefore(r, affirm)
	if before.once > 0 {
		return label(fmt.Sprintf("%s this call alone: somebody has answered for this call only, and always counts if "+
			"everybody answers always. Later calls of the tool %s ask again.", verb, tool), maxConfirm)
	}
	if before.left > 0 {
		return label(fmt.Sprintf("Counts for this call. It holds for every later call of the tool %s by the agent %s, "+
			"until this run ends, only if %s always too; if they only %s, it is for this call alone.%s",
			label(r.Tool.Name, 30), label(r.Agent, 30), more(before.left), once, wouldCover(r)), maxConfirm)
	}
	scope := verb + " this call and every later call of the tool " + tool + " by the agent " + by +
		", with any arguments, until this run ends."
	if len(r.Covers) == 0 {
		return scope + " Other runs ask again."
	}
	scope += " It also answers " + waiting(len(r.Covers)) + ", where the policy lets it: "
	var names []string
	for _, c := range r.Covers {
		names = append(names, label(c.Shown, 60))
	}
	return label(scope+strings.Join(names, ", "), maxConfirm)
}

// wouldCover says how many waiting calls a standing answer settles once it is one.
func wouldCover(r *approvals.Request) string {
	if len(r.Covers) == 0 {
		return ""
	}
	return " Then it answers " + waiting(len(r.Covers)) + " too."
}

func waiting(n int) string {
	if n == 1 {
		return "1 call that waits now"
	}
	return fmt.Sprintf("%d calls that wait now", n)
}

// dropping has a button ask back whose press drops the standing answer that others have given to the request.
func dropping(r *approvals.Request, b *slack.ButtonBlockElement, affirm bool) *slack.ButtonBlockElement {
	n := votesBefore(r, affirm).forever
	if n == 0 {
		return b
	}
	who, again := "Somebody has", "Always approve"
	if n > 1 {
		who = fmt.Sprintf("%d people have", n)
	}
	if !affirm {
		again = "Always reject"
	}
	return confirmed(b, b.Style, b.Text.Text+" this call alone?", who+" answered always. This answer is for this call "+
		"alone, so later calls ask again; to have always hold, press "+again+" instead.")
}

func button(r *approvals.Request, a action, text string, style slack.Style) *slack.ButtonBlockElement {
	b := slack.NewButtonBlockElement(string(a), string(r.ID), plain(text))
	return b.WithStyle(style)
}

func confirmed(b *slack.ButtonBlockElement, style slack.Style, title, text string) *slack.ButtonBlockElement {
	c := slack.NewConfirmationBlockObject(plain(title), plain(text), plain(b.Text.Text), plain("Cancel"))
	return b.WithConfirm(c.WithStyle(style))
}
