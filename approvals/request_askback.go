package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"countersign/agent"
)

// mostAskedBack bounds the questions to the requester about one request.
const mostAskedBack = 10

// AskBackIn is a question of somebody who may decide a request to the person who asked for its run.
type AskBackIn struct {
	Workspace WorkspaceID
	Request   RequestID
	By        UserID
	Text      string // at most 2,000 characters
	Digest    agent.Digest
	Via       string
	// Key names the question in every form in which it may be delivered again; asking again with the same key does
	// nothing more.
	Key string
}

// AskedBack is a question to the requester of a request, and the answer.
type AskedBack struct {
	By   UserID    `json:"by"`
	At   time.Time `json:"at"`
	Text string    `json:"text"`
	// Answer is what the requester said to it, Answered when, and Message the surface's id of the message in which they
	// did. Answered is zero while nobody has.
	Answer   string    `json:"answer,omitempty"`
	Answered time.Time `json:"answered,omitzero"`
	Message  string    `json:"message,omitempty"`
}

// AskBack puts a question to the requester of a pending request, in the run's conversation, for somebody who could
// decide it now. It decides nothing: the request waits on, until the same deadline. What the requester next says to the
// bot in that conversation while the request waits is the answer, and told to who asked; it starts no run.
// Errors: ErrInvalid for a text that is empty or too long, where the requester asks themselves, and for too many
// questions; else as MayDecide, and ErrStale as Decide.
func (s *Service) AskBack(ctx context.Context, in AskBackIn) (*Request, error) {
	arrived := time.Now()
	r, err := (*Request)(nil), error(nil)
	for range rounds {
		if r, err = s.askBackOnce(ctx, in, arrived); !errors.Is(err, errNotGathered) {
			break
		}
	}
	if err != nil {
		return r, fmt.Errorf("ask back about request %s: %w", in.Request, err)
	}
	return r, nil
}

func (in *AskBackIn) check() error {
	switch {
	case in.By.Workspace() != in.Workspace || in.By.Local() == "":
		return refuse(ErrInvalid, wordsNobodyOf(in.By, in.Workspace))
	case in.Key == "":
		return refuse(ErrInvalid, wordsNoKey)
	case strings.TrimSpace(in.Text) == "":
		return refuse(ErrInvalid, wordsEmpty("question"))
	case utf8.RuneCountInString(in.Text) > maxReason:
		return refuse(ErrInvalid, wordsTooManyCharacters("question", maxReason))
	case !utf8.ValidString(in.Text):
		return refuse(ErrInvalid, wordsNotText("question"))
	}
	return nil
}

func (s *Service) askBackOnce(ctx context.Context, in AskBackIn, arrived time.Time) (*Request, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	seen, f, err := s.gatherFor(ctx, in.Workspace, in.Request, in.By, arrived)
	if err != nil {
		return nil, err
	}
	var refused error
	err = update(ctx, s.store, in.Workspace, func(c *txn) error {
		head, err := c.request(in.Request)
		if err != nil {
			return err
		}
		seen.RequestHead = *head
		if refused = head.mayAskBack(f, &in, c.Now()); refused != nil {
			return nil
		}
		fresh, err := c.Once(c.ws, in.Key, c.Now())
		if err != nil || !fresh {
			return err
		}
		if err := c.askBack(head, &in); err != nil {
			return err
		}
		seen.RequestHead = *head
		return nil
	})
	return seen, errors.Join(err, refused)
}

// mayAskBack returns nil when the person may ask the requester of r something: they could answer r themselves.
func (r *RequestHead) mayAskBack(f *facts, in *AskBackIn, now time.Time) error {
	if err := r.open(now); err != nil {
		return err
	}
	current, err := look(f.policies, r.ID)
	if err != nil {
		return err
	}
	if err := f.mayDecide(r, &current, in.By, now); err != nil {
		return err
	}
	switch {
	case !sameDigest(in.Digest, r.Digest):
		return ErrStale
	case in.By == r.Requester:
		return RuleRequester.refuse(ErrInvalid, "", wordsAsksThemselves)
	case len(r.AskedBack) >= mostAskedBack:
		return refuse(ErrInvalid, wordsAskedOften(r.Requester.Local(), mostAskedBack))
	}
	return nil
}

// AnswerBackIn is what the requester of a request answers to the newest question that was put to them about it.
type AnswerBackIn struct {
	Workspace WorkspaceID
	Request   RequestID
	By        UserID
	Text      string // longer ones are shortened
	// Key names the answer in every form in which it may be delivered again; another answer with the same key does
	// nothing more.
	Key string
}

// AnswerBack records the answer to what AskBack asked and tells it to whoever asked, for a requester who was asked
// outside the run's conversation. The request waits on.
// Errors: ErrInvalid for an empty answer, ErrUnauthorized for anybody else, ErrConflict where no question is open, or
// the request waits no longer; ErrExpired and ErrStale as Decide.
func (s *Service) AnswerBack(ctx context.Context, in AnswerBackIn) (*Request, error) {
	if strings.TrimSpace(in.Text) == "" || !utf8.ValidString(in.Text) || in.Key == "" {
		return nil, fmt.Errorf("answer about request %s: %w", in.Request, refuse(ErrInvalid, wordsEmpty("answer")))
	}
	err := update(ctx, s.store, in.Workspace, func(c *txn) error {
		r, err := c.request(in.Request)
		if err != nil {
			return err
		}
		if in.By != r.Requester {
			return RuleAsked.refuse(ErrUnauthorized, string(r.Requester), wordsOtherWasAsked(r.Requester.Local()))
		}
		fresh, err := c.Once(c.ws, in.Key, c.Now())
		if err != nil || !fresh {
			return err
		}
		if err := r.open(c.Now()); err != nil {
			return err
		}
		if r.unanswered() == nil {
			return refuse(ErrConflict, wordsNoOpenQuestion)
		}
		return c.answered(r, in.Text, "")
	})
	if err != nil {
		return nil, fmt.Errorf("answer about request %s: %w", in.Request, err)
	}
	return s.Request(ctx, in.Workspace, in.Request)
}

// askBack records the question and has it told.
func (c *txn) askBack(r *RequestHead, in *AskBackIn) error {
	r.AskedBack = append(slices.Clip(r.AskedBack), AskedBack{By: in.By, At: c.Now(), Text: in.Text})
	c.touched(r)
	c.show(r)
	how := AnswerInThread
	if r.Place.Direct {
		how = wordsAnswerHere
	}
	c.notify(&Notification{
		Kind: NotifyNotice, Place: r.Place, Run: r.Run, Request: r.ID, By: in.By, To: r.Requester,
		Text: wordsAsksBack(r.Tool.Name, r.ID, curly(in.Text), how),
	})
	return c.audit(entry{
		Action: AuditAskedBack, Actor: string(in.By), Run: r.Run, Request: r.ID,
		Data: auditData{Digest: r.Digest, Person: r.Requester, Reason: textDigest(in.Text), Via: in.Via},
	})
}

// curly puts a person's words in quotes.
func curly(text string) string { return "“" + strings.TrimSpace(text) + "”" }

// unanswered returns the newest question that the requester of r has not answered, or nil.
func (r *RequestHead) unanswered() *AskedBack {
	for i := range slices.Backward(r.AskedBack) {
		if r.AskedBack[i].Answered.IsZero() {
			return &r.AskedBack[i]
		}
	}
	return nil
}

// answerBack takes what the requester of the run says as the answer to the newest question that was put to them about a
// request that still waits. The receipt is empty where there is none, and for messages of others.
func (a *admission) answerBack(c *txn, active *Run) (Receipt, error) {
	in := &a.in
	if in.Requester != active.Requester || a.retryOf != "" {
		return Receipt{}, nil
	}
	r, q, err := c.askedBack(active.ID)
	if err != nil || q == nil {
		return Receipt{}, err
	}
	return Receipt{Run: active.ID, Outcome: SubmitAnswered}, c.answered(r, in.Text, in.Message)
}

// answered records what the requester of r answers to the newest open question about it, and has it told.
func (c *txn) answered(r *RequestHead, text, message string) error {
	q := *r.unanswered()
	words := shortened(text, maxReason)
	answered := slices.Clone(r.AskedBack)
	i := slices.Index(answered, q)
	answered[i].Answer, answered[i].Answered, answered[i].Message = words, c.Now(), message
	r.AskedBack = answered
	c.touched(r)
	c.show(r)
	told := Notification{
		Kind: NotifyNotice, Place: r.Place, Run: r.Run, By: r.Requester, To: q.By,
		Text: wordsAnswersBack(curly(words), curly(shortened(q.Text, 200)), r.Tool.Name, r.ID),
	}
	// Somebody who has the request to themselves may not be in the conversation, where no mention reaches them. Of a
	// bare one the surface tells them directly in any case.
	if own := CopyFor(q.By); slices.Contains(r.Called.Copies, own) && !r.Called.Bare {
		direct := told
		direct.Place, direct.Copy = queueOf(r.Place, own), own
		c.notify(&direct)
	}
	c.notify(&told)
	return c.audit(entry{
		Action: AuditAnsweredBack, Actor: string(r.Requester), Run: r.Run, Request: r.ID,
		Data: auditData{Digest: r.Digest, Person: q.By, Reason: textDigest(text)},
	})
}

// askedBack returns the newest unanswered question about a waiting request of the run, and that request.
func (c *txn) askedBack(run RunID) (r *RequestHead, q *AskedBack, err error) {
	all, err := c.requestsOf(run)
	if err != nil {
		return nil, nil, err
	}
	for _, o := range all {
		if o.open(c.Now()) != nil {
			continue
		}
		if asked := o.unanswered(); asked != nil && (q == nil || asked.At.After(q.At)) {
			r, q = o, asked
		}
	}
	return r, q, nil
}

// answeredBefore finds that an earlier try of this submission was committed as an answer.
func (a *admission) answeredBefore(c *txn) (Receipt, error) {
	active, err := c.ActiveRun(c.ws, a.in.Place)
	if errors.Is(err, ErrNotFound) {
		return Receipt{}, nil
	}
	if err != nil || a.in.Message == "" {
		return Receipt{}, err
	}
	all, err := c.requestsOf(active.ID)
	if err != nil {
		return Receipt{}, err
	}
	for _, r := range all {
		if slices.ContainsFunc(r.AskedBack, func(q AskedBack) bool { return q.Message == a.in.Message }) {
			return Receipt{Run: active.ID, Outcome: SubmitAnswered}, nil
		}
	}
	return Receipt{}, nil
}
