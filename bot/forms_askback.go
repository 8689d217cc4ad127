package bot

import (
	"context"
	"slices"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

// askBackForm asks the requester something before deciding. The request waits on.
func askBackForm() form {
	return form{
		title: wordsAskRequester, submit: wordsAsk,
		ask: func(r *approvals.Request) ([]slack.Block, phrase) {
			return []slack.Block{
				paragraph(wordsAskBackMeans(r.Requester)),
				reasonInput(wordsYourQuestion, ""),
			}, nil
		},
		do: func(b *Bot, ctx context.Context, s submitted) done {
			text := s.values.text(inputBlock)
			if _, bad := wordedDecision("", text, wordsWriteAQuestion); bad != nil {
				return done{wrong: bad}
			}
			r, err := b.service.AskBack(ctx, approvals.AskBackIn{
				Workspace: s.id.workspace, Request: s.note.Request, By: s.by, Text: text, Digest: s.note.Digest,
				Via: "modal", Key: "asked back:" + string(s.decisionID()),
			})
			if err == nil {
				return done{words: wordsAskBackSent(r.Requester)}
			}
			words, known := refusedDecision(b.explained(ctx, r, err), r, s.by)
			if !known {
				b.log.Error("a question to a requester was not recorded", "request", s.note.Request, "error", err)
				words = unrecorded(err)
			}
			return done{words: words, err: err, mendable: !known || mendableByHand(err), request: r}
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
		title: wordsAnswer, submit: wordsSend,
		open: func(_ *Bot, _ context.Context, r *approvals.Request, by approvals.UserID) error {
			if by != r.Requester {
				return &approvals.Refusal{
					Fact: approvals.ErrUnauthorized, Rule: approvals.RuleAsked, About: string(r.Requester),
				}
			}
			return nil
		},
		ask: func(r *approvals.Request) ([]slack.Block, phrase) {
			open := slices.ContainsFunc(r.AskedBack, func(q approvals.AskedBack) bool { return q.Answered.IsZero() })
			if r.Status != approvals.RequestPending || !open {
				return nil, phrase{wordsNoOpenQuestion}
			}
			return append(askedBackBlocks(r), reasonInput(wordsYourAnswer, wordsAnswerIsTold)), nil
		},
		do: func(b *Bot, ctx context.Context, s submitted) done {
			text := s.values.text(inputBlock)
			if _, bad := wordedDecision("", text, wordsWriteAnswer); bad != nil {
				return done{wrong: bad}
			}
			r, err := b.service.AnswerBack(ctx, approvals.AnswerBackIn{
				Workspace: s.id.workspace, Request: s.note.Request, By: s.by, Text: text,
				Key: "answered back:" + string(s.decisionID()),
			})
			if err == nil {
				return done{words: phrase{wordsPassedOn}}
			}
			words, known := refusedDecision(b.explained(ctx, r, err), r, s.by)
			if !known {
				b.log.Error("an answer of a requester was not recorded", "request", s.note.Request, "error", err)
				words = unrecorded(err)
			}
			return done{words: words, err: err, mendable: !known, request: r}
		},
	}
}

// askedBackBlocks show what was asked back, and what was answered.
func askedBackBlocks(r *approvals.Request) (blocks []slack.Block) {
	const most = 400 // characters of each text
	for _, q := range r.AskedBack {
		blocks = append(blocks, paragraph(wordsAskedBackThen(q.By, r.Requester, q.At)), quote(q.Text, most))
		if q.Answered.IsZero() {
			blocks = append(blocks, paragraph(wordsUnansweredYet(r.Requester, ".")))
			continue
		}
		blocks = append(blocks, paragraph(wordsAnsweredThen(r.Requester, q.Answered)), quote(q.Answer, most))
	}
	return blocks
}

// askedBackLines are the last questions that were asked back, and what was answered, as they stand on a card: quoted
// and cut. The details have all of it.
func askedBackLines(r *approvals.Request) (lines []phrase) {
	const most = 2
	for _, q := range r.AskedBack[max(0, len(r.AskedBack)-most):] {
		lines = append(lines, wordsAskedBack(q.By, r.Requester, at(r, q.At), label(q.Text, maxSaid)))
		if q.Answered.IsZero() {
			lines = append(lines, wordsUnansweredYet(r.Requester, ""))
			continue
		}
		lines = append(lines, wordsAnsweredBack(r.Requester, at(r, q.Answered), label(q.Answer, maxSaid)))
	}
	return lines
}
