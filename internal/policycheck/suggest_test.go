package policycheck

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"countersign/approvals"
)

// suggest is what the requests suggest for the agents file of the tests with this gate.
func suggest(t *testing.T, gate string, all ...*approvals.Request) Findings {
	t.Helper()
	s := NewSuggestions(catalogWith(t, gate, policies))
	for _, r := range all {
		if s.Want(&r.RequestHead) {
			s.Add(r)
		}
	}
	return s.Findings()
}

// payments are n requests of different amounts from 1 on, one a day.
func payments(n int, change ...func(*approvals.Request)) (all []*approvals.Request) {
	for i := range n {
		all = append(all, recorded(i, fmt.Sprintf(`{"amount":%d,"to":"a%d"}`, i+1, i), change...))
	}
	return all
}

// TestSuggestsThreshold leaves the largest tenth, and what nobody has seen, to people.
func TestSuggestsThreshold(t *testing.T) {
	t.Parallel()
	f := suggest(t, "args.amount > 0.5", payments(30)...)
	if len(f.Suggestions) != 1 {
		t.Fatalf("%+v", f)
	}
	s := f.Suggestions[0]
	if s.Kind != Threshold || s.Gate != "(args.amount > 0.5) && (args.amount > 27 || args.amount < 0)" ||
		s.Condition != "args.amount >= 0 && args.amount <= 27" || s.Spares != 27 || len(s.Requests) != 27 ||
		s.Days != 27 || s.ApprovedBy["U0BEN"] != 27 || s.Unbound["to"] != 27 || s.Requests[0] != "req_000" {
		t.Errorf("%+v", s)
	}
	if math.Abs(s.RejectedAtMost-(1-math.Pow(0.05, 1.0/27))) > 1e-9 {
		t.Errorf("at most %v", s.RejectedAtMost)
	}
}

// TestSuggestsGrant binds whatever the calls had in common.
func TestSuggestsGrant(t *testing.T) {
	t.Parallel()
	var all []*approvals.Request
	for i := range 25 {
		all = append(all, recorded(i, fmt.Sprintf(`{"amount":%d,"to":"say \"hi\"","memo":"m%d"}`, 10+i%2, i)))
	}
	f := suggest(t, "true", all...)
	if len(f.Suggestions) != 1 {
		t.Fatalf("%+v", f)
	}
	const condition = `args.amount >= 10 && args.amount <= 11 && !has(args.day) && args.to == "say \"hi\""`
	s := f.Suggestions[0]
	if s.Kind != GrantLike || s.Condition != condition || s.Gate != "!("+condition+")" || s.Unbound["memo"] != 25 ||
		len(s.Unbound) != 1 || s.Open {
		t.Errorf("%+v", s)
	}
}

// TestSuggestionSaysWhatItLeavesFree has a tool with arguments that no call had: one of two types, which is bound, one
// that no expression can name, and any that the schema does not name, which are left free, and that is said.
func TestSuggestionSaysWhatItLeavesFree(t *testing.T) {
	t.Parallel()
	file := strings.Replace(fmt.Sprintf(agentsYAML, "true", policies), "memo: { type: string }, day: { type: integer }",
		`bcc: { type: [string, "null"] }, "dry-run": { type: boolean }, note: {}`, 1)
	var all []*approvals.Request
	for i := range 25 {
		all = append(all, recorded(i, fmt.Sprintf(`{"amount":%d,"to":"a"}`, i)))
	}
	for _, open := range []bool{false, true} {
		if open {
			file = strings.Replace(file, "additionalProperties: false", "additionalProperties: true", 1)
		}
		made, err := build(parse(t, file))
		if err != nil {
			t.Fatal(err)
		}
		s := NewSuggestions(made)
		for _, r := range all {
			if s.Want(&r.RequestHead) {
				s.Add(r)
			}
		}
		found := s.Findings().Suggestions
		if len(found) != 2 {
			t.Fatalf("%+v", found)
		}
		for _, s := range found {
			free := map[string]int{"dry-run": 0}
			want := `args.amount >= 0 && args.amount <= 24 && !has(args.bcc) && !has(args.note) && args.to == "a"`
			if s.Kind == Threshold {
				free = map[string]int{"bcc": 0, "dry-run": 0, "note": 0, "to": 1}
				want = "args.amount >= 0 && args.amount <= 22"
			}
			if s.Condition != want || !maps.Equal(s.Unbound, free) || s.Open != open {
				t.Errorf("%s\nwant %s; free %v, open %v", s.Condition, want, s.Unbound, s.Open)
			}
		}
	}
}

// TestSuggestsNothing says why.
func TestSuggestsNothing(t *testing.T) {
	t.Parallel()
	one := func(change func(*approvals.Request)) []*approvals.Request {
		all := payments(30)
		change(all[7])
		return all
	}
	decline := approvals.Decision{By: approvals.NewUserID(team, "U0CLEO"), Verdict: approvals.Reject}
	for _, c := range []struct {
		why, want string
		all       []*approvals.Request
	}{
		{"too few", "people approved 19 calls on 19 days; a suggestion needs 20 on 3 days", payments(19)},
		{"too few days", "approved 30 calls on 1 days", payments(30, func(r *approvals.Request) {
			r.Created = monday
		})},
		{"one was rejected", "1 of 30 calls were rejected by somebody", one(func(r *approvals.Request) {
			r.Status, r.Decisions = approvals.RequestRejected, []approvals.Decision{decline}
		})},
		{"somebody was against it", "rejected by somebody", one(func(r *approvals.Request) {
			r.Decisions = append(r.Decisions, decline)
		})},
		{"one was changed", "people changed the arguments of 1 of 30 calls", one(func(r *approvals.Request) {
			r.SupersededBy = "req_x"
		})},
		{"two must agree", "more than one person must agree", one(func(r *approvals.Request) {
			r.Requirement.Seats = append(r.Requirement.Seats, r.Requirement.Seats[0])
		})},
		{"under an answer for all", "people approved 1 calls on 1 days", func() []*approvals.Request {
			all := payments(30)
			for _, r := range all[1:] {
				r.Decisions[0].Standing = &approvals.StandingAnswer{Request: all[0].ID}
			}
			return all
		}()},
		{"nobody decided", "people approved 0 calls", payments(30, func(r *approvals.Request) {
			r.Status, r.Decisions = approvals.RequestExpired, nil
		})},
		{"past the policy", "people approved 0 calls", payments(30, func(r *approvals.Request) {
			r.Decisions[0].Verdict = approvals.BreakGlass
		})},
		{"a reviewer objected", "1 of 30 calls were rejected by somebody", one(func(r *approvals.Request) {
			r.Decisions[0].Verdict = approvals.BreakGlass
			r.Review = &approvals.Review{Verdict: approvals.ReviewObject}
		})},
		{"gone", "no such tool any more", payments(30, func(r *approvals.Request) { r.Tool.Name = "old" })},
		{"gone with its agent", "no such agent any more", payments(30, func(r *approvals.Request) { r.Agent = "old" })},
		{"of a server", "tool of an MCP server", payments(30, func(r *approvals.Request) { r.Tool.Kind = "mcp" })},
		{"not gated", "not asked about it any more", payments(30, func(r *approvals.Request) { r.Tool.Name = "look" })},
	} {
		f := suggest(t, "true", c.all...)
		if len(f.Suggestions) != 0 || len(f.Nothing) != 1 || !strings.Contains(f.Nothing[0].Why, c.want) {
			t.Errorf("%s: %+v", c.why, f)
		}
	}
	if control := suggest(t, "true", payments(30)...); len(control.Suggestions) == 0 {
		t.Error("control: nothing is ever suggested")
	}
}

// TestSuggestedGates puts each suggestion into the agents file, over random records: it is accepted there, the requests
// behind it run without asking, and a call whose bound argument is different asks.
func TestSuggestedGates(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var all []*approvals.Request
		unit := rapid.SampledFrom([]float64{1, 1e18, 1e300}).Draw(rt, "unit")
		texts := rapid.SampledFrom([]string{"a", "b c", `q"\`, "é\u2028", "${X"})
		for i := range rapid.IntRange(MinRequests, 60).Draw(rt, "requests") {
			args := map[string]any{
				"amount": unit * rapid.Float64Range(-5, 50).Draw(rt, "amount"), "to": texts.Draw(rt, "to"),
			}
			if rapid.Bool().Draw(rt, "has day") {
				args["day"] = rapid.IntRange(1, 3).Draw(rt, "day")
			}
			data, err := json.Marshal(args)
			if err != nil {
				rt.Fatal(err)
			}
			all = append(all, recorded(i, string(data)))
		}
		byID := make(map[approvals.RequestID]*approvals.Request)
		for _, r := range all {
			byID[r.ID] = r
		}
		for _, s := range suggest(t, "true", all...).Suggestions {
			gate, err := json.Marshal(s.Gate)
			if err != nil {
				rt.Fatal(err)
			}
			made := catalogWith(t, string(gate), policies)
			for _, id := range s.Requests {
				if v, err := judge(t.Context(), made, byID[id], untold); err != nil || v.Fate != Allowed {
					rt.Fatalf("%s: %s under %s is %s (%s)", id, byID[id].Arguments, s.Gate, v.Fate, v.Why)
				}
			}
			for _, other := range []float64{1e7, -1e7} {
				other := fmt.Sprintf(`{"amount":%g,"to":"a"}`, other*unit)
				if v, err := judge(t.Context(), made, recorded(0, other), untold); err != nil || v.Fate != Asked {
					rt.Fatalf("%s under %s is %s", other, s.Gate, v.Fate)
				}
			}
		}
	})
}
