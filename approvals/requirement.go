package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// errPolicy marks an ErrUnavailable that comes from the policy.
var errPolicy = errors.New("the policy failed")

// requirement asks the policy about r. Its error is ErrUnavailable: while a policy fails nobody can approve.
func requirement(ctx context.Context, p Policy, r *Request) (Requirement, error) {
	q, err := p.Requirement(ctx, r)
	if err != nil {
		return Requirement{}, fmt.Errorf("%w: %w: %w", ErrUnavailable, errPolicy, err)
	}
	q.Quorum, q.DenyQuorum = max(q.Quorum, 1), max(q.DenyQuorum, 1)
	return q, nil
}

func (q Requirement) name() string {
	if q.Policy == "" {
		return "the policy"
	}
	return fmt.Sprintf("policy %q", q.Policy)
}

// equal reports whether both ask for the same, whatever they are called.
func (q Requirement) equal(o Requirement) bool {
	return q.Approvers.equal(o.Approvers) && q.Quorum == o.Quorum && q.DenyQuorum == o.DenyQuorum &&
		q.SelfApproval == o.SelfApproval && q.ValidFor == o.ValidFor && slices.Equal(q.Always, o.Always)
}

func (a Approvers) equal(o Approvers) bool {
	return a.ChannelMembers == o.ChannelMembers && slices.Equal(a.Users, o.Users) && slices.Equal(a.Groups, o.Groups)
}

// Describe says in plain words who must agree, for instance "2 members of this channel, not the requester". Users and
// groups appear with the ids that the surface knows.
func (q Requirement) Describe() string {
	n := max(q.Quorum, 1)
	var b strings.Builder
	if q.Approvers.Empty() {
		return "nobody can approve this"
	}
	fmt.Fprintf(&b, "%d of ", n)
	b.WriteString(strings.Join(q.Approvers.words(), ", "))
	if q.onlyChannel() {
		b.Reset()
		fmt.Fprintf(&b, "%d member%s of this channel", n, plural(n))
	}
	if !q.SelfApproval {
		b.WriteString(", not the requester")
	}
	return b.String()
}

func (q Requirement) onlyChannel() bool {
	return q.Approvers.ChannelMembers && len(q.Approvers.Users) == 0 && len(q.Approvers.Groups) == 0
}

func (a Approvers) words() []string {
	var words []string
	for _, u := range a.Users {
		words = append(words, u.Local())
	}
	for _, g := range a.Groups {
		words = append(words, "group "+g)
	}
	if a.ChannelMembers {
		words = append(words, "the members of this channel")
	}
	return words
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}
