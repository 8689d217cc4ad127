package control

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"countersign/approvals"
)

// waitingDesk answers only once the client has gone, and says when it was asked.
type waitingDesk struct {
	fakeDesk
	asked chan struct{}
}

func (w *waitingDesk) Decide(ctx context.Context, _ approvals.Decision) (*approvals.Request, error) {
	close(w.asked)
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestDecideInterrupted: whoever interrupts the command before the bot has answered is not told that nothing was
// decided, and what to do.
func TestDecideInterrupted(t *testing.T) {
	t.Parallel()
	desk := &waitingDesk{asked: make(chan struct{})}
	_, client := serve(t, desk)
	ctx, interrupt := context.WithCancel(t.Context())
	go func() {
		<-desk.asked
		interrupt()
	}()
	_, err := client.Decide(ctx, approvals.Decision{Workspace: "T1", Request: "req_1"})
	if !errors.Is(err, ErrOutcomeUnknown) || !errors.Is(err, context.Canceled) ||
		!strings.Contains(err.Error(), "deciding again is safe") {
		t.Errorf("interrupted: %v", err)
	}
}

// deafDesk breaks the connection instead of answering.
type deafDesk struct{ fakeDesk }

func (d *deafDesk) Review(
	context.Context, approvals.WorkspaceID, approvals.RequestID, approvals.Review,
) (*approvals.Request, error) {
	panic(http.ErrAbortHandler)
}

// TestReviewLost: a review whose answer got lost may be recorded.
func TestReviewLost(t *testing.T) {
	t.Parallel()
	_, client := serve(t, &deafDesk{})
	_, err := client.Review(t.Context(), "T1", "req_1", approvals.Review{})
	if err == nil || !strings.Contains(err.Error(), "countersign approvals show req_1") {
		t.Errorf("lost: %v", err)
	}
}
