package approvals_test

import (
	"errors"
	"strings"
	"testing"

	"countersign/approvals"
)

// TestEditorBreaksNoGlass: whoever changed a call lets it run past the policy as little as who asked for it, and reads
// why.
func TestEditorBreaksNoGlass(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.policy.always(named(1, bob, cara))
	b.policy.glass = approvals.Emergency{People: approvals.Approvers{Users: []approvals.UserID{bob, user("dan")}}}
	b.people.put(approvals.Person{ID: user("dan"), Regular: true})
	strictly(b, asks(call("c1", "pay", `{"amount":5}`)))
	b.start()
	next := b.edited(b.question(b.submit()), bob, `{"amount":6}`)
	_, err := b.breakGlass(next, bob)
	if !errors.Is(err, approvals.ErrUnauthorized) || !strings.Contains(err.Error(), "changed or filled in") {
		t.Errorf("bob was told: %v", err)
	}
	if _, err := b.breakGlass(next, user("dan")); err != nil {
		t.Error(err)
	}
}
