package approvals_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"countersign/approvals"
)

// askBack asks the requester something about r.
func (b *bench) askBack(r *approvals.Request, by approvals.UserID, text, key string) error {
	_, err := b.service.AskBack(b.Context(), approvals.AskBackIn{
		Workspace: r.Workspace, Request: r.ID, By: by, Text: text, Digest: r.Digest, Via: "modal", Key: key,
	})
	return err
}

// says has somebody write in the thread of the run while it waits.
func (b *bench) says(by approvals.UserID, text, message string) approvals.Receipt {
	b.Helper()
	got, err := b.service.Submit(b.Context(), approvals.Submission{
		Workspace: ws, Keys: []string{"event:" + message}, Place: place, Requester: by, Agent: "ops", Text: text,
		Message: message,
	})
	if err != nil {
		b.Fatal(err)
	}
	return got
}

// TestAskBack tells the requester once, and takes the next thing they say as the answer. The request waits on.
func TestAskBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.start()
	r := b.question(b.submit())
	for range 2 { // delivered twice
		if err := b.askBack(r, bob, "Which invoice?", "q1"); err != nil {
			t.Fatal(err)
		}
	}
	if n := b.count(approvals.AuditAskedBack); n != 1 || len(b.request(r.ID).AskedBack) != 1 {
		t.Errorf("asked %d times", n)
	}
	if got := b.says(cara, "Hello.", "1"); got.Outcome != approvals.SubmitQueued {
		t.Errorf("what somebody else says is %+v", got)
	}
	if got := b.says(r.Requester, "It is 1042.", "2"); got.Outcome != approvals.SubmitAnswered {
		t.Errorf("the answer is %+v", got)
	}
	if got := b.says(r.Requester, "And pay Globex.", "3"); got.Outcome != approvals.SubmitQueued {
		t.Errorf("what the requester says next is %+v", got)
	}
	q := b.request(r.ID).AskedBack[0]
	if q.By != bob || q.Text != "Which invoice?" || q.Answer != "It is 1042." || q.Answered.IsZero() ||
		q.Message != "2" {
		t.Errorf("recorded is %+v", q)
	}
	if got := b.request(r.ID).Status; got != approvals.RequestPending || b.count(approvals.AuditAnsweredBack) != 1 {
		t.Errorf("the request is %s", got)
	}
	b.until("both are told", func() bool {
		all := strings.Join(b.surface.texts(approvals.NotifyNotice), "\n")
		return strings.Contains(all, "“Which invoice?”") && strings.Contains(all, "answers: “It is 1042.”")
	})
	b.must(r, bob, approvals.Reject, "")
	if err := b.askBack(r, cara, "Too late?", "q2"); !errors.Is(err, approvals.ErrConflict) {
		t.Errorf("about a decided request: %v", err)
	}
	b.trail()
}

// TestAnswerBack takes the answer of a requester who was asked elsewhere, once, and of nobody else.
func TestAnswerBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.start()
	r := b.question(b.submit())
	answer := func(by approvals.UserID, text, key string) error {
		_, err := b.service.AnswerBack(b.Context(), approvals.AnswerBackIn{
			Workspace: r.Workspace, Request: r.ID, By: by, Text: text, Key: key,
		})
		return err
	}
	if err := answer(r.Requester, "Nobody asked.", "a0"); !errors.Is(err, approvals.ErrConflict) {
		t.Errorf("before a question: %v", err)
	}
	for i, text := range []string{"Which invoice?", "Is it due?"} {
		if err := b.askBack(r, bob, text, fmt.Sprint("q", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := answer(cara, "It is 1042.", "a1"); !errors.Is(err, approvals.ErrUnauthorized) {
		t.Errorf("of somebody else: %v", err)
	}
	if err := answer(r.Requester, " ", "a2"); !errors.Is(err, approvals.ErrInvalid) {
		t.Errorf("an empty one: %v", err)
	}
	for range 2 { // delivered twice: the older question stays open
		if err := answer(r.Requester, "Today.", "a3"); err != nil {
			t.Fatal(err)
		}
	}
	q := b.request(r.ID).AskedBack
	if q[0].Answer != "" || q[1].Answer != "Today." || q[1].Answered.IsZero() ||
		b.count(approvals.AuditAnsweredBack) != 1 {
		t.Errorf("recorded is %+v", q)
	}
	b.until("Bob is told", func() bool {
		return strings.Contains(strings.Join(b.surface.texts(approvals.NotifyNotice), "\n"), "answers: “Today.”")
	})
	b.must(r, bob, approvals.Reject, "")
	if err := answer(r.Requester, "Too late.", "a4"); !errors.Is(err, approvals.ErrConflict) {
		t.Errorf("about a decided request: %v", err)
	}
	b.trail()
}

// TestAskBackIsForThoseWhoDecide: nobody else asks, nor about another call, nor without end.
func TestAskBackIsForThoseWhoDecide(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.start()
	r := b.question(b.submit())
	other, unknown := *r, *r
	other.Digest[0]++
	unknown.ID = "req_x"
	for name, tt := range map[string]struct {
		err, want error
	}{
		"a guest":         {b.askBack(r, guest, "Why?", "1"), approvals.ErrUnauthorized},
		"the requester":   {b.askBack(r, r.Requester, "Why?", "2"), nil}, // refused either way, see below
		"another call":    {b.askBack(&other, bob, "Why?", "3"), approvals.ErrStale},
		"without words":   {b.askBack(r, bob, " ", "4"), approvals.ErrInvalid},
		"too many words":  {b.askBack(r, bob, strings.Repeat("x", 2001), "5"), approvals.ErrInvalid},
		"not UTF-8":       {b.askBack(r, bob, "\xff", "6"), approvals.ErrInvalid},
		"without a key":   {b.askBack(r, bob, "Why?", ""), approvals.ErrInvalid},
		"another request": {b.askBack(&unknown, bob, "Why?", "7"), approvals.ErrNotFound},
	} {
		if tt.err == nil || tt.want != nil && !errors.Is(tt.err, tt.want) {
			t.Errorf("%s: %v", name, tt.err)
		}
	}
	if n := b.count(approvals.AuditAskedBack); n != 0 {
		t.Fatalf("%d questions were put", n)
	}
	for i := range 11 {
		err := b.askBack(r, bob, "Why?", fmt.Sprint("q", i))
		if (err != nil) != (i == 10) || err != nil && !errors.Is(err, approvals.ErrInvalid) {
			t.Errorf("question %d: %v", i+1, err)
		}
	}
	if got := b.request(r.ID).AskedBack; len(got) != 10 || slices.ContainsFunc(got, func(q approvals.AskedBack) bool {
		return q.By != bob
	}) {
		t.Errorf("recorded are %+v", got)
	}
}
