package history_test

import (
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/agent/history"
)

// TestKeepNewest leaves out the oldest turns past the limit, and nothing that has to stay.
func TestKeepNewest(t *testing.T) {
	t.Parallel()
	turn := func(tokens int) agent.HistoryTurn { return agent.HistoryTurn{Tokens: tokens} }
	asked := agent.HistoryTurn{Tokens: 30, Asked: true}
	for _, tt := range []struct {
		why   string
		limit int
		turns []agent.HistoryTurn
		want  []int
	}{
		{"below the limit nothing happens", 100, []agent.HistoryTurn{turn(50), turn(50)}, nil},
		{"no limit", 0, []agent.HistoryTurn{turn(50), turn(50)}, nil},
		{"past it, the oldest go until three quarters are left",
			100, []agent.HistoryTurn{turn(10), turn(20), turn(40), turn(31)}, []int{0, 1}},
		{"what was asked stays", 100, []agent.HistoryTurn{turn(10), asked, turn(40), turn(31)}, []int{0, 2}},
		{"the last turn stays, whatever it costs", 100, []agent.HistoryTurn{turn(10), asked, turn(1000)}, []int{0}},
		{"nothing else is left", 100, []agent.HistoryTurn{turn(1000)}, nil},
		{"an empty conversation", 100, nil, nil},
	} {
		h := &agent.History{Turns: slices.Clone(tt.turns)}
		if err := history.KeepNewest(tt.limit)(t.Context(), h); err != nil {
			t.Errorf("%s: %v", tt.why, err)
		}
		var got []int
		for i := range h.Turns {
			if h.Turns[i].LeaveOut {
				got = append(got, i)
			}
		}
		if diff := gocmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s:\n%s", tt.why, diff)
		}
	}
}
