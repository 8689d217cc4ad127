package bot

import (
	"strings"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

// presetBlock is the block of the ready-made reasons.
const presetBlock = "preset"

// rejectForm rejects with the person's words, with ready-made ones, or with both.
func rejectForm() form {
	return form{
		title: wordsRejectWithReason, submit: wordsReject,
		ask: func(r *approvals.Request) ([]slack.Block, phrase) {
			var blocks []slack.Block
			if words := droppedBy(r, false); words != "" {
				blocks = append(blocks, paragraph(phrase{words}))
			}
			var all []choice
			for _, p := range wordsReasons {
				all = append(all, choice{value: p, text: p})
			}
			ready := oneInput(presetBlock, wordsReadyReason, "", all, "")
			ready.Optional = true
			own := reasonInput(wordsWhyNot, wordsAgentIsTold)
			own.Optional = true
			own.Element.(*slack.PlainTextInputBlockElement).MinLength = 0
			return append(blocks, own, ready), nil
		},
		read: func(_ *approvals.Request, v values) (approvals.Decision, map[string]string) {
			reason := v.text(inputBlock)
			if ready := v.chosen(presetBlock); ready != "" {
				reason = strings.TrimSuffix(ready+": "+reason, ": ")
			}
			return wordedDecision(approvals.Reject, reason, wordsWriteOrChoose)
		},
	}
}

// wordedDecision is a decision that goes with a text, which must not be empty.
func wordedDecision(verdict approvals.Verdict, reason, empty string) (approvals.Decision, map[string]string) {
	if reason == "" {
		return approvals.Decision{}, map[string]string{inputBlock: empty}
	}
	if words := tooLong(reason, maxReason); words != "" {
		return approvals.Decision{}, map[string]string{inputBlock: words}
	}
	return approvals.Decision{Verdict: verdict, Reason: reason}, nil
}

// textForm asks for one text that goes with the verdict.
func textForm(verdict approvals.Verdict, f form, name, hint string) form {
	f.ask = func(r *approvals.Request) ([]slack.Block, phrase) {
		var blocks []slack.Block
		if words := droppedBy(r, verdict.Affirms()); words != "" {
			blocks = append(blocks, paragraph(phrase{words}))
		}
		return append(blocks, reasonInput(name, hint)), nil
	}
	f.read = func(_ *approvals.Request, v values) (approvals.Decision, map[string]string) {
		return wordedDecision(verdict, v.text(inputBlock), wordsWriteSomething)
	}
	return f
}

// commentForm approves with the person's words.
func commentForm() form {
	return textForm(approvals.Approve, form{title: wordsApproveWithComment, submit: wordsApprove, whole: true},
		wordsYourComment, wordsCommentKept)
}

// markDoneForm says that a call of which nobody had heard did happen.
func markDoneForm() form {
	return textForm(approvals.MarkDone, form{title: wordsItHappened, submit: wordsItHappened},
		wordsWhatCameOfIt, wordsReadAsResult)
}

// giveUpForm leaves such a call as it is.
func giveUpForm() form {
	return textForm(approvals.GiveUp, form{title: wordsGiveUp, submit: wordsGiveUp},
		wordsShouldKnow, wordsCallLeft)
}

// resultForm reports what came of a call that was carried out elsewhere.
func resultForm() form {
	return textForm(approvals.ProvideResult, form{title: wordsProvideResult, submit: wordsProvideResult},
		wordsWhatCameOfIt, wordsReadAsResult)
}

// approveForm approves a call of high risk, whose window repeats all of it. There is nothing to fill in.
func approveForm() form {
	return form{
		title: wordsApproveThisCall, submit: wordsApprove, whole: true,
		ask: func(r *approvals.Request) ([]slack.Block, phrase) {
			words := wordsHighRiskApproval()
			if dropped := droppedBy(r, true); dropped != "" {
				words = append(words, " "+dropped)
			}
			return paragraphs(words), nil
		},
		read: func(*approvals.Request, values) (approvals.Decision, map[string]string) {
			return approvals.Decision{Verdict: approvals.Approve}, nil
		},
	}
}
