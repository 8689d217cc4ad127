package bot

import (
	"context"
	"fmt"
	"slices"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

// askBackForm asks the requester something before deciding. The request waits on.
func askBackForm() form {
	return form{
		title: "Ask the requester", submit: "Ask",
		ask: func(r *approvals.Request) ([]slack.Block, phrase) {
			return []slack.Block{
				paragraph(phrase{r.Requester, " reads the question in the thread. Nothing is decided by it. What " +
					"they answer me there is told to you."}),
				reasonInput("Your question", ""),
			}, nil
		},
		do: func(b *Bot, ctx context.Context, s submitted) (answer, error) {
			text := s.values.text(inputBlock)
			if _, bad := wordedDecision("", text, "Please write a question."); bad != nil {
				return wrong(bad), nil
			}
			r, err := b.service.AskBack(ctx, approvals.AskBackIn{
				Workspace: s.id.workspace, Request: s.note.Request, By: s.by, Text: text, Digest: s.note.Digest,
				Via: "modal", Key: "asked back:" + string(s.decisionID()),
			})
			if err == nil {
				return answer{payload: becomes(wordsView(phrase{"Asked. I mention you in the thread when ", r.Requester,
					" has answered me there."}))}, nil
			}
			words, known := refusedDecision(b.explained(ctx, r, err), r, s.by)
			if !known {
				b.log.Error("a question to a requester was not recorded", "request", s.note.Request, "error", err)
				words = unrecorded()
			}
			return b.formRefused(s, r, words, !known || mendableByHand(err)), nil
		},
	}
}

// openAnswerBack opens the form for the answer to a question that the requester was asked directly: its button stands
// in that message, which is no card.
func (b *Bot) openAnswerBack(_ context.Context, c click) (answer, error) {
	return answer{then: func(ctx context.Context) {
		b.openModal(ctx, c, func(ctx context.Context) (slack.ModalViewRequest, error) {
			r, err := b.visibleRequest(ctx, c.id.workspace, c.request, c.by)
			if err != nil {
				return slack.ModalViewRequest{}, err
			}
			return b.formFor(ctx, c, r)
		})
	}}, nil
}

// answerBackForm answers what somebody asks before deciding.
func answerBackForm() form {
	return form{
		title: "Answer", submit: "Send",
		open: func(_ *Bot, _ context.Context, r *approvals.Request, by approvals.UserID) error {
			if by != r.Requester {
				return fmt.Errorf("%w: %s was asked", approvals.ErrUnauthorized, r.Requester.Local())
			}
			return nil
		},
		ask: func(r *approvals.Request) ([]slack.Block, phrase) {
			open := slices.ContainsFunc(r.AskedBack, func(q approvals.AskedBack) bool { return q.Answered.IsZero() })
			if r.Status != approvals.RequestPending || !open {
				return nil, phrase{"No question about this call waits for your answer any more."}
			}
			const hint = "It is told to whoever asked last, and stands on the card of those who decide. Nothing is " +
				"decided by it."
			return append(askedBackBlocks(r), reasonInput("Your answer", hint)), nil
		},
		do: func(b *Bot, ctx context.Context, s submitted) (answer, error) {
			text := s.values.text(inputBlock)
			if _, bad := wordedDecision("", text, "Please write an answer."); bad != nil {
				return wrong(bad), nil
			}
			r, err := b.service.AnswerBack(ctx, approvals.AnswerBackIn{
				Workspace: s.id.workspace, Request: s.note.Request, By: s.by, Text: text,
				Key: "answered back:" + string(s.decisionID()),
			})
			if err == nil {
				return answer{payload: becomes(wordsView(phrase{"Your answer was passed on. The call waits on."}))}, nil
			}
			words, known := refusedDecision(b.explained(ctx, r, err), r, s.by)
			if !known {
				b.log.Error("an answer of a requester was not recorded", "request", s.note.Request, "error", err)
				words = unrecorded()
			}
			return b.formRefused(s, r, words, !known), nil
		},
	}
}

// askedBackBlocks show what was asked back, and what was answered.
func askedBackBlocks(r *approvals.Request) (blocks []slack.Block) {
	const most = 400 // characters of each text
	for _, q := range r.AskedBack {
		blocks = append(blocks, paragraph(phrase{q.By, " asked ", r.Requester, ", ", q.At, ":"}), quote(q.Text, most))
		if q.Answered.IsZero() {
			blocks = append(blocks, paragraph(phrase{r.Requester, " has not answered yet."}))
			continue
		}
		blocks = append(blocks, paragraph(phrase{r.Requester, " answered, ", q.Answered, ":"}), quote(q.Answer, most))
	}
	return blocks
}

// askedBackLines are the last questions that were asked back, and what was answered, as they stand on a card: quoted
// and cut. The details have all of it.
func askedBackLines(r *approvals.Request) (lines []phrase) {
	const most = 2
	for _, q := range r.AskedBack[max(0, len(r.AskedBack)-most):] {
		asked := phrase{q.By, " asked ", r.Requester, " ", at(r, q.At)}
		lines = append(lines, append(asked, ": “"+label(q.Text, maxSaid)+"”"))
		if q.Answered.IsZero() {
			lines = append(lines, phrase{r.Requester, " has not answered yet"})
			continue
		}
		lines = append(lines,
			phrase{r.Requester, " answered ", at(r, q.Answered), ": “" + label(q.Answer, maxSaid) + "”"})
	}
	return lines
}
