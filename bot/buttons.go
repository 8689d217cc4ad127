package bot

import (
	"slices"
	"strconv"
	"strings"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/approvals"
)

// action is the action_id of a button, or what stands before the colon in the value of a line of the menu.
type action string

// The actions. The value of a button is the id of the request, nothing else.
const (
	actApprove      action = "approve"
	actReject       action = "reject"
	actAlwaysYes    action = "always_approve"
	actAlwaysNo     action = "always_reject"
	actRejectReason action = "reject_with_reason"
	actComment      action = "comment"
	actAskBack      action = "ask_back"
	actAnswerBack   action = "answer_back"
	actEdit         action = "edit_arguments"
	actInput        action = "provide_input"
	actProvide      action = "provide_result"
	actCallback     action = "show_callback"
	actApproveAll   action = "approve_all"
	actRejectAll    action = "reject_all"
	actDetails      action = "show_details"
	actDetailsNext  action = "details_next"
	actDetailsPrev  action = "details_prev"
	actMarkDone     action = "mark_done"
	actRetry        action = "retry"
	actGiveUp       action = "give_up"
	actCancelRun    action = "cancel_run"
	actReveal       action = "reveal_secret"
	actOption       action = "option_"      // and the number of the option, from 0
	actMore         action = "more"         // an overflow menu; its options' values are ACTION:ID
	actRevokeGrant  action = "revoke_grant" // its value is the grant's id
	actListNext     action = "list_next"    // the value of this and the next two is a listing
	actListFirst    action = "list_first"
	actListOpen     action = "list_open"
)

// verdicts are the buttons that decide at once.
var verdicts = map[action]approvals.Verdict{
	actApprove: approvals.Approve, actReject: approvals.Reject,
	actAlwaysYes: approvals.AlwaysApprove, actAlwaysNo: approvals.AlwaysReject,
	actRetry: approvals.Retry, actOption: approvals.Answer,
}

// runsCall reports whether pressing the button may make the call run, which only somebody may ask for who was shown
// all of it.
func (a action) runsCall() bool {
	return a == actApprove || a == actAlwaysYes || a == actRetry || a == actComment
}

// cardButtons returns the rows of buttons under a pending request. What is pressed most stands open, the rest is in a
// menu. Without the whole call above them, none of them makes it run.
func cardButtons(r *approvals.Request, whole bool) [][]slack.BlockElement {
	rows := answerButtons(r, whole)
	last := &rows[len(rows)-1]
	*last = append(*last, button(r, actDetails, wordsShowDetails, slack.StyleDefault))
	if len(r.Beside) > 0 && whole && !careful(r) {
		*last = append(*last,
			button(r, actApproveAll, wordsApproveAll, slack.StyleDefault),
			button(r, actRejectAll, wordsRejectAll, slack.StyleDefault))
	}
	*last = append(*last, moreMenu(r, whole, true))
	return rows
}

// detailsButtons returns the rows of buttons under the details, for a viewer with these rights: those of a card, and
// those for somebody who has something to say.
func detailsButtons(r *approvals.Request, whole bool, can rights) [][]slack.BlockElement {
	if !can.decide {
		if !can.cancel {
			return nil
		}
		return [][]slack.BlockElement{{cancelButton(string(r.ID))}}
	}
	rows := answerButtons(r, whole)
	var words []slack.BlockElement
	if r.Kind == agent.Confirm && whole && !r.RevealFirst() {
		words = append(words, button(r, actComment, wordsApproveWithComment, slack.StyleDefault))
	}
	words = append(words, button(r, actAskBack, wordsAskRequester, slack.StyleDefault))
	if menu := moreMenu(r, whole, can.cancel); menu != nil {
		words = append(words, menu)
	}
	rows = append(rows, words)
	return slices.DeleteFunc(rows, func(row []slack.BlockElement) bool { return len(row) == 0 })
}

// answerButtons returns the rows of buttons that answer the question at once, or open the form for it. There is at
// least one row, which may be empty.
func answerButtons(r *approvals.Request, whole bool) [][]slack.BlockElement {
	whole = whole && !r.RevealFirst()
	reject := dropping(r, button(r, actReject, wordsReject, slack.StyleDanger), false)
	if r.IsQuestion() {
		return questionButtons(r, reject)
	}
	switch r.Kind {
	case agent.Confirm:
		if !whole {
			return [][]slack.BlockElement{{reject}}
		}
		yes := button(r, actApprove, wordsApprove, slack.StylePrimary)
		if !careful(r) { // whose form says it
			yes = dropping(r, yes, true)
		}
		return [][]slack.BlockElement{{yes, reject}}
	case agent.OutcomeUnknown:
		return [][]slack.BlockElement{unknownButtons(r, whole)}
	case agent.ExternalResult:
		return [][]slack.BlockElement{{button(r, actProvide, wordsProvideResult, slack.StylePrimary), reject}}
	case agent.FieldsRequired:
		return [][]slack.BlockElement{{button(r, actInput, wordsFillIn, slack.StylePrimary), reject}}
	}
	return [][]slack.BlockElement{nil} // a question that this version cannot take an answer to
}

// careful reports whether nobody approves the call with one press: its policy says that the risk is high.
func careful(r *approvals.Request) bool {
	return r.Requirement.Risk == approvals.RiskHigh ||
		r.Progress != nil && r.Progress.Current.Risk == approvals.RiskHigh
}

func unknownButtons(r *approvals.Request, whole bool) []slack.BlockElement {
	row := []slack.BlockElement{button(r, actMarkDone, wordsItHappened, slack.StyleDefault)}
	if whole {
		retry := button(r, actRetry, wordsTryAgain, slack.StyleDefault)
		row = append(row, confirmed(retry, slack.StyleDanger, wordsRunAgainAsk, wordsRunAgain))
	}
	return append(row, button(r, actGiveUp, wordsGiveUp, slack.StyleDefault))
}

// moreMenu holds what else can be done about a pending request; nil for nothing, and a button where it is one thing.
// Slack allows five lines, and asks for confirmation of a whole menu only: what needs one opens a form.
func moreMenu(r *approvals.Request, whole, cancel bool) slack.BlockElement {
	var lines []*slack.OptionBlockObject
	add := func(a action, text string) { lines = append(lines, menuLine(r, a, text)) }
	if r.Kind != agent.OutcomeUnknown && known(r.Kind) {
		add(actRejectReason, wordsRejectWithReason)
	}
	if r.Kind == agent.Confirm {
		if whole && !r.RevealFirst() && len(alwaysScopes(r)) > 0 {
			add(actAlwaysYes, wordsAlwaysApprove)
		}
		if len(alwaysScopes(r)) > 0 {
			add(actAlwaysNo, wordsAlwaysReject)
		}
		add(actEdit, wordsEditArguments)
	}
	if r.Callbacks {
		add(actCallback, wordsShowCallback)
	}
	if cancel {
		add(actCancelRun, wordsCancelRun)
	}
	switch {
	case len(lines) > 1:
		return slack.NewOverflowBlockElement(string(actMore), lines...)
	case cancel:
		return cancelButton(string(r.ID))
	case len(lines) == 1:
		return button(r, actRejectReason, lines[0].Text.Text, slack.StyleDefault)
	}
	return nil
}

// known reports whether this version can take an answer to questions of the kind.
func known(kind agent.InterruptionKind) bool {
	return kind == agent.Confirm || kind == agent.OutcomeUnknown || kind == agent.ExternalResult ||
		kind == agent.FieldsRequired
}

func menuLine(r *approvals.Request, a action, text string) *slack.OptionBlockObject {
	return slack.NewOptionBlockObject(string(a)+":"+string(r.ID), plain(text), nil)
}

// cancelButton ends the run that a request belongs to, where there is no menu for it. A card is one message for
// everybody, so everybody sees it; the service judges who pressed it.
func cancelButton(request string) slack.BlockElement {
	b := slack.NewButtonBlockElement(string(actCancelRun), request, plain(wordsCancelRun))
	b = confirmed(b, slack.StyleDanger, wordsCancelRunAsk, wordsCancelRunMeans)
	b.Confirm.Deny = plain(wordsKeepRunning)
	return b
}

// onlyCancel leaves of an element what somebody may press who may cancel the run and no more; nil for nothing.
func onlyCancel(e slack.BlockElement) slack.BlockElement {
	switch e := e.(type) {
	case *slack.ButtonBlockElement:
		if e.ActionID == string(actCancelRun) {
			return e
		}
	case *slack.OverflowBlockElement:
		for _, line := range e.Options {
			if name, request, _ := strings.Cut(line.Value, ":"); name == string(actCancelRun) {
				return cancelButton(request)
			}
		}
	}
	return nil
}

// actionOf reads which action an element stands for, and of which request; n is the number of an option.
func actionOf(p pressed) (a action, request string, n int) {
	a, request = action(p.ActionID), p.Value
	if a == actMore {
		name, id, _ := strings.Cut(p.Selected.Value, ":")
		return action(name), id, 0
	}
	if rest, ok := strings.CutPrefix(p.ActionID, string(actOption)); ok {
		if n, err := strconv.Atoi(rest); err == nil && n >= 0 && strconv.Itoa(n) == rest {
			return actOption, request, n
		}
		return "", request, 0
	}
	return a, request, 0
}

// dropping has a button ask back whose press drops the standing answer that others have given to the request.
func dropping(r *approvals.Request, b *slack.ButtonBlockElement, affirm bool) *slack.ButtonBlockElement {
	words := droppedBy(r, affirm)
	if words == "" {
		return b
	}
	return confirmed(b, b.Style, wordsAloneAsk(b.Text.Text), words)
}

// droppedBy says that an answer for this call alone drops the standing answer of others; empty where it does not.
func droppedBy(r *approvals.Request, affirm bool) string {
	n := votesBefore(r, affirm).forever
	if n == 0 || r.Kind != agent.Confirm {
		return ""
	}
	if affirm {
		return wordsAloneMeans(n, wordsAlwaysApprove)
	}
	return wordsAloneMeans(n, wordsAlwaysReject)
}

func button(r *approvals.Request, a action, text string, style slack.Style) *slack.ButtonBlockElement {
	b := slack.NewButtonBlockElement(string(a), string(r.ID), plain(text))
	return b.WithStyle(style)
}

func confirmed(b *slack.ButtonBlockElement, style slack.Style, title, text string) *slack.ButtonBlockElement {
	c := slack.NewConfirmationBlockObject(plain(title), plain(text), plain(b.Text.Text), plain(wordsCancel))
	return b.WithConfirm(c.WithStyle(style))
}
