package agentsfile

import (
	"testing"
	"time"
)

// TestFreeze reads dates as whole days in UTC, the last one included, and instants as they are.
func TestFreeze(t *testing.T) {
	t.Parallel()
	f, err := parse(t, rulesWith(`{name: a, when: true, approvers: {users: [U1]}, risk: high, freeze: [
      {from: 2026-12-24, to: 2026-12-27, except: {groups: [S333]}},
      {from: 2026-12-31, to: 2026-12-31},
      {from: "2026-12-24T18:00:00+01:00", to: 2027-01-02T08:30:00Z}]}`))
	if err != nil {
		t.Fatal(err)
	}
	p := f.Policies[0]
	if !p.HighRisk || len(p.AlwaysScopes) != 0 || len(p.Freeze) != 3 {
		t.Fatalf("%+v", p)
	}
	for i, want := range [][2]string{
		{"2026-12-24T00:00:00Z", "2026-12-28T00:00:00Z"},
		{"2026-12-31T00:00:00Z", "2027-01-01T00:00:00Z"},
		{"2026-12-24T17:00:00Z", "2027-01-02T08:30:00Z"},
	} {
		z := p.Freeze[i]
		if got := [2]string{z.From.Format(time.RFC3339), z.To.Format(time.RFC3339)}; got != want {
			t.Errorf("%d: %v; want %v", i, got, want)
		}
	}
	if p.Freeze[0].Except.String() != "group S333" || !p.Freeze[1].Except.Empty() {
		t.Errorf("%v, %v", p.Freeze[0].Except, p.Freeze[1].Except)
	}
}
