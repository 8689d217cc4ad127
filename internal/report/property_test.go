package report

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"countersign/agent"
	"countersign/approvals"
)

// minute is an instant of the small world that the properties are held in: its windows end at such instants too.
func minute(t *rapid.T, name string) time.Time {
	return october.From.Add(time.Duration(rapid.IntRange(0, 12).Draw(t, name)) * time.Minute)
}

var everyVerdict = rapid.SampledFrom(verdicts[:])

// anyRequest draws a request as a store could hold it, and odder ones.
func anyRequest(t *rapid.T) *approvals.RequestHead {
	r := newRequest(fmt.Sprintf("req_%d", rapid.IntRange(0, 1e6).Draw(t, "id")), minute(t, "created"))
	r.Tool.Name = rapid.SampledFrom([]string{"pay", "deploy", ""}).Draw(t, "tool")
	r.Agent = rapid.SampledFrom([]string{"ops", "billing"}).Draw(t, "agent")
	r.Requirement.Policy = rapid.SampledFrom([]string{"money", ""}).Draw(t, "policy")
	r.Requirement.Risk = rapid.SampledFrom([]approvals.Risk{approvals.RiskNormal, approvals.RiskHigh}).Draw(t, "risk")
	r.Kind = rapid.SampledFrom([]agent.InterruptionKind{agent.Confirm, agent.ExternalResult}).Draw(t, "kind")
	r.Outcome = rapid.SampledFrom([]approvals.Outcome{approvals.OutcomeNone, approvals.OutcomeRan,
		approvals.OutcomeFailed, approvals.OutcomeNotRun, approvals.OutcomeUnknown, approvals.OutcomeRunning}).
		Draw(t, "outcome")
	for range rapid.IntRange(0, 3).Draw(t, "decisions") {
		d := approvals.Decision{By: approvals.UserID("T1/U" + rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "by")),
			Verdict: everyVerdict.Draw(t, "verdict"), At: minute(t, "at"),
			Via: rapid.SampledFrom([]string{"button", "cli", approvals.ViaCallback}).Draw(t, "via")}
		if rapid.IntRange(0, 4).Draw(t, "standing") == 0 {
			d.Standing = &approvals.StandingAnswer{Request: "req_0"}
		}
		if rapid.IntRange(0, 4).Draw(t, "void") == 0 {
			d.Void = "left"
		}
		r.Decisions = append(r.Decisions, d)
	}
	r.Status = rapid.SampledFrom(append([]approvals.RequestStatus{approvals.RequestPending}, ends[:]...)).
		Draw(t, "status")
	if r.Status != approvals.RequestPending {
		r.Settled = minute(t, "settled")
	}
	if rapid.Bool().Draw(t, "reviewed") {
		r.Review = &approvals.Review{By: "T1/U1", Verdict: approvals.ReviewObject, At: minute(t, "review")}
	}
	return r
}

// anyEntry draws an entry of a trail.
func anyEntry(t *rapid.T, seq int) *approvals.AuditEntry {
	e := &approvals.AuditEntry{Workspace: "T1", Seq: uint64(seq), At: minute(t, "entry"), Hash: agent.Digest{byte(seq)}}
	e.Action = rapid.SampledFrom([]approvals.AuditAction{approvals.AuditRequestCreated, approvals.AuditGrantCreated,
		approvals.AuditGrantUsed, approvals.AuditGrantRevoked, approvals.AuditGrantDenied, approvals.AuditEffectIntent,
		approvals.AuditEffectDone}).Draw(t, "action")
	e.Data = []byte(rapid.SampledFrom([]string{"", `{"attempt":1}`, `{"attempt":2}`, `{"grant":"g"}`,
		`{"standing":"r"}`, `{"break_glass":"d"}`, `{"review":true}`}).Draw(t, "data"))
	e.Request = rapid.SampledFrom([]approvals.RequestID{"", "req_1"}).Draw(t, "request")
	return e
}

// world is what a store holds.
type world struct {
	requests []*approvals.RequestHead
	entries  []*approvals.AuditEntry
}

func anyWorld(t *rapid.T) (w world) {
	w.requests = rapid.SliceOfN(rapid.Custom(anyRequest), 0, 40).Draw(t, "requests")
	for i := range rapid.IntRange(0, 20).Draw(t, "entries") {
		w.entries = append(w.entries, anyEntry(t, i))
	}
	return w
}

func (w *world) report(t interface{ Fatal(...any) }, from, to time.Time) *Report {
	b := New(Window{from, to})
	for _, r := range w.requests {
		b.Add(r)
	}
	for _, e := range w.entries {
		if err := b.AddEntry(e); err != nil {
			t.Fatal(err)
		}
	}
	return b.Report()
}

func at(n int) time.Time { return october.From.Add(time.Duration(n) * time.Minute) }

// TestTotalsAddUp whatever is counted, and rates are shares.
func TestTotalsAddUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := anyWorld(t)
		r := w.report(t, at(2), at(9))
		same := func(what string, have, want int) {
			if have != want {
				t.Fatalf("%s: %d, want %d", what, have, want)
			}
		}
		same("asked by status", r.Asked.Status.Sum(), r.Asked.Requests)
		same("settled and pending", r.Settled.Status.Pending, 0)
		settled := 0
		for i, o := range r.Settled.Outcomes {
			settled += o.Sum()
			var one Status
			one.count(ends[i])
			if one.Approved > 0 {
				same("outcomes of approved", o.Sum(), r.Settled.Status.Approved)
			}
		}
		same("settled by outcome", settled, r.Settled.Requests)
		a := r.Apart
		same("approved and rejected", r.Decided.Approved+r.Decided.Rejected+a.StandingApproved+a.StandingRejected+
			a.Emergency+a.Callback, r.Settled.Status.Approved+r.Settled.Status.Rejected)
		days, classes := 0, 0
		for i := range r.Days {
			days += r.Days[i].Status.Sum()
		}
		for _, c := range r.Times {
			classes += c.Approved + c.Rejected
		}
		same("days", days, r.Asked.Requests)
		same("classes", classes, r.Decided.Approved+r.Decided.Rejected)
		for name, groups := range map[string][]Group{
			"tools": r.Tools, "agents": r.Agents, "policies": r.Policies, "kinds": r.Kinds,
		} {
			asked, settled, decided := 0, 0, 0
			for i := range groups {
				asked, settled = asked+groups[i].Asked, settled+groups[i].Settled.Sum()
				decided += groups[i].Decided.Approved + groups[i].Decided.Rejected
				isShare(t, groups[i].Decided.Rate)
			}
			same(name+" asked", asked, r.Asked.Requests)
			same(name+" settled", settled, r.Settled.Requests)
			same(name+" decided", decided, r.Decided.Approved+r.Decided.Rejected)
		}
		given, via := 0, 0
		for i := range r.Approvers {
			given += r.Approvers[i].Given
			isShare(t, r.Approvers[i].FastShare)
		}
		for _, v := range r.Answers.Via {
			via += v.Answers
		}
		s := r.Answers
		same("answers by person", given, s.Given)
		same("answers by way", via, s.Given)
		same("answers by verdict", s.Approvals+s.Rejections+s.Edits+s.Emergency, s.Given)
		c := r.Calls
		same("calls", c.Request+c.Standing+c.Grant+c.Emergency+c.Gate, c.Began)
		isShare(t, r.Decided.Rate)
		isShare(t, r.Asked.HighRiskShare)
	})
}

func isShare(t *rapid.T, s *float64) {
	if s != nil && (*s < 0 || *s > 1) {
		t.Fatalf("%v is no share", *s)
	}
}

// TestOrderDoesNotMatter of what is added.
func TestOrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := anyWorld(t)
		want := w.report(t, at(0), at(13))
		draw := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		other := world{slices.Clone(w.requests), slices.Clone(w.entries)}
		draw.Shuffle(len(other.requests), func(i, j int) {
			other.requests[i], other.requests[j] = other.requests[j], other.requests[i]
		})
		draw.Shuffle(len(other.entries), func(i, j int) {
			other.entries[i], other.entries[j] = other.entries[j], other.entries[i]
		})
		if diff := cmp.Diff(want, other.report(t, at(0), at(13))); diff != "" {
			t.Fatalf("(-in one order +in another):\n%s", diff)
		}
	})
}

// TestWindowsThatAdjoinAddUp shares nothing between them and loses nothing.
func TestWindowsThatAdjoinAddUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := anyWorld(t)
		a := rapid.IntRange(0, 10).Draw(t, "a")
		b := rapid.IntRange(a+1, 11).Draw(t, "b")
		c := rapid.IntRange(b+1, 12).Draw(t, "c")
		first, second, whole := w.report(t, at(a), at(b)), w.report(t, at(b), at(c)), w.report(t, at(a), at(c))
		sum := addends(first)
		for what, n := range addends(second) {
			sum[what] += n
		}
		if diff := cmp.Diff(addends(whole), sum); diff != "" {
			t.Fatalf("(-whole +sum of its parts):\n%s", diff)
		}
		if diff := cmp.Diff(whole.Pending, second.Pending); diff != "" {
			t.Fatalf("what waits at the end depends on where the window begins:\n%s", diff)
		}
	})
}

// addends are the figures of a report that add up.
func addends(r *Report) map[string]int {
	all := map[string]int{
		"asked": r.Asked.Requests, "high risk": r.Asked.HighRisk, "trail": r.Asked.Trail,
		"approved": r.Settled.Status.Approved, "rejected": r.Settled.Status.Rejected,
		"expired": r.Settled.Status.Expired, "cancelled": r.Settled.Status.Cancelled,
		"stale": r.Settled.Status.Stale, "superseded": r.Settled.Status.Superseded,
		"decided approved": r.Decided.Approved, "decided rejected": r.Decided.Rejected,
		"standing": r.Apart.StandingApproved + r.Apart.StandingRejected, "emergency": r.Apart.Emergency,
		"callback": r.Apart.Callback, "given": r.Answers.Given, "fast": r.Answers.Fast, "voided": r.Answers.Voided,
		"own": r.Answers.Own, "fast high": r.Fatigue.HighRisk, "began": r.Calls.Began, "recorded": r.Calls.Recorded,
		"grants": r.Grants.Created + r.Grants.Revoked, "used": r.Grants.Used, "denied": r.Grants.Denied,
		"emergencies": r.Emergencies.Count, "reviews": r.Emergencies.Accepted + r.Emergencies.Objected,
	}
	for i := range r.Times {
		all[fmt.Sprint("class ", i)] = r.Times[i].Approved + r.Times[i].Rejected
	}
	for _, g := range r.Tools {
		all["asked for "+g.Name] += g.Asked
	}
	return all
}

// TestPercentileIsTheNearestRank by its definition: the smallest of the times that so many do not exceed.
func TestPercentileIsTheNearestRank(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.SliceOfN(rapid.Int64Range(0, 50), 1, 60).Draw(t, "times")
		p := rapid.SampledFrom([]int{1, 50, 95, 100}).Draw(t, "p")
		slices.Sort(times)
		want := int64(-1)
		for _, candidate := range times {
			within := 0
			for _, x := range times {
				within += one(x <= candidate)
			}
			if within*100 >= p*len(times) {
				want = candidate
				break
			}
		}
		if got := percentile(times, float64(p)); got == nil || *got != float64(want)/1e6 {
			t.Fatalf("p%d of %v is %v, want %d", p, times, *got, want)
		}
	})
	if percentile(nil, 50) != nil {
		t.Error("nothing has a median")
	}
}

// TestSeriesAgainstTheirDefinition compares streaks and bursts with what their words say, answer by answer.
func TestSeriesAgainstTheirDefinition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := &person{}
		var now int64
		for i := range rapid.IntRange(0, 90).Draw(t, "answers") {
			now += rapid.SampledFrom([]int64{0, 1e6, 29e6, 34e6, 60e6, 400e6}).Draw(t, "pause")
			verdict := approvals.Approve
			if rapid.IntRange(0, 25).Draw(t, "reject") == 0 {
				verdict = approvals.Reject
			}
			id := approvals.RequestID(fmt.Sprint(1000 + i))
			p.answers = append(p.answers, answer{at: now, request: id, verdict: verdict})
		}
		hurried, streak, longest := make([]bool, len(p.answers)), 0, 0
		for i := range p.answers {
			if j := i + burstLength - 1; j < len(p.answers) && p.answers[j].at-p.answers[i].at <= 300e6 {
				for k := i; k <= j; k++ {
					hurried[k] = true
				}
			}
			if streak++; p.answers[i].verdict == approvals.Reject {
				streak = 0
			}
			longest = max(longest, streak)
		}
		inBursts := 0
		for _, b := range p.bursts("T1/U1") {
			if inBursts += b.Length; b.Length < burstLength {
				t.Fatalf("a burst of %d", b.Length)
			}
		}
		want := 0
		for _, yes := range hurried {
			want += one(yes)
		}
		long, have := p.streaks("T1/U1")
		if inBursts != want || have != longest || (len(long) > 0) != (longest >= longStreak) {
			t.Fatalf("%d answers in bursts, want %d; longest streak %d, want %d; %d long", inBursts, want, have,
				longest, len(long))
		}
	})
}
