package bot

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/approvals"
)

// TestWhoCanDecideInstead: whoever may not decide is told who can, by name or place, and nobody is named who may not
// either.
func TestWhoCanDecideInstead(t *testing.T) {
	t.Parallel()
	ann, ben, cleo := user("U0ANN"), user("U0BEN"), user("U0CLEO") // ann has asked
	asks := func(a approvals.Approvers) approvals.Requirement {
		return approvals.Requirement{Seats: approvals.Quorum(1, a), DenyQuorum: 1}
	}
	for name, tt := range map[string]struct {
		by     approvals.UserID
		rule   approvals.Rule
		about  approvals.UserID
		needs  approvals.Requirement
		change func(*approvals.Request)
		want   phrase
	}{
		"a channel": {
			by: ben, rule: approvals.RuleEditor, needs: asks(approvals.Approvers{ChannelMembers: true}),
			want: phrase{"You changed the arguments or filled them in, so somebody else has to decide. " +
				"Other members of ", room("C0GENERAL"), " can: open the thread."},
		},
		"a group and people, one of whom asked for it": {
			by: ann, rule: approvals.RuleRequester,
			needs: asks(approvals.Approvers{Users: []approvals.UserID{ann, cleo}, Groups: []string{"S0FIN"}}),
			want: phrase{"You asked for this, so somebody else has to decide. ", cleo, " and ", group("S0FIN"),
				" can: open the thread."},
		},
		"one of whom changed it": {
			by: ann, rule: approvals.RuleRequester,
			needs:  asks(approvals.Approvers{Users: []approvals.UserID{ben, cleo}}),
			change: func(r *approvals.Request) { r.Editors = []approvals.UserID{ben} },
			want: phrase{"You asked for this, so somebody else has to decide. ", cleo,
				" can: open the thread."},
		},
		"people, one of whom has answered": {
			by: ann, rule: approvals.RuleRequester,
			needs: func() approvals.Requirement {
				q := asks(approvals.Approvers{Users: []approvals.UserID{ben, cleo}})
				q.DenyQuorum = 2
				return q
			}(),
			change: func(r *approvals.Request) {
				r.Decisions = []approvals.Decision{{By: ben, Verdict: approvals.Reject}}
			},
			want: phrase{"You asked for this, so somebody else has to decide. ", cleo,
				" can: open the thread."},
		},
		"others since": {
			by: ann, rule: approvals.RuleRequester,
			needs: func() approvals.Requirement {
				q := asks(approvals.Approvers{Users: []approvals.UserID{cleo}})
				q.Escalation = approvals.Escalation{
					After: time.Minute, To: approvals.Approvers{Users: []approvals.UserID{ann, ben}},
				}
				return q
			}(),
			change: func(r *approvals.Request) { r.Escalated = r.Created.Add(time.Minute) },
			want: phrase{"You asked for this, so somebody else has to decide. ", cleo, " and ", ben,
				" can: open the thread."},
		},
		"a question that was put to somebody": {
			by: ben, rule: approvals.RuleAsked, about: ann, needs: asks(approvals.Approvers{ChannelMembers: true}),
			want: phrase{"The question was put to ", ann, ", so they answer it."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := transfer(small)
			r.Requirement = tt.needs
			if tt.change != nil {
				tt.change(r)
			}
			refused := &approvals.Refusal{Fact: approvals.ErrUnauthorized, Rule: tt.rule, About: string(tt.about)}
			got, known := refusedDecision(refused, r, tt.by)
			if diff := cmp.Diff(tt.want.joined(), got.joined()); diff != "" || !known {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestUnknownIsNotCalledUnrecorded: where the store cannot tell whether it has written, nobody is told that it has not:
// what they have approved may run.
func TestUnknownIsNotCalledUnrecorded(t *testing.T) {
	t.Parallel()
	const unsure, not = "I cannot tell whether this was recorded", "was not recorded"
	unknown := fmt.Errorf("decide: %w", approvals.ErrCommitUnknown)
	by := user("U0BEN")
	d := approvals.Decision{Verdict: approvals.Approve, By: by}
	b := newStage(t, setUp{}).bot
	for name, say := range map[string]func(error) phrase{
		"an answer": func(err error) phrase { return result{err: err}.words(d) },
		"a run":     func(err error) phrase { words, _ := cancelled(err, by); return words },
		"calls together": func(err error) phrase {
			view := b.batchResult(t.Context(), submitted{by: by, act: actApproveAll}, nil, err)
			return phrase{whole(t, view.Blocks)}
		},
	} {
		if got := say(unknown).fallback(); !strings.Contains(got, unsure) || strings.Contains(got, not) {
			t.Errorf("%s of which the store cannot tell: %q", name, got)
		}
		if got := say(errors.New("disk full")).fallback(); !strings.Contains(got, not) {
			t.Errorf("%s that was not written: %q", name, got)
		}
	}
}
