package report

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/approvals"
)

func made(requests ...*approvals.RequestHead) *Report {
	b := New(october)
	for _, r := range requests {
		b.Add(r)
	}
	return b.Report()
}

var noon = october.From.Add(12 * time.Hour)

// TestNothingHasNoRate: a rate of nothing is no number, not 0 and not 1.
func TestNothingHasNoRate(t *testing.T) {
	t.Parallel()
	r := made(newRequest("req_1", noon, ended(approvals.RequestExpired, time.Hour)),
		newRequest("req_2", noon, ended(approvals.RequestCancelled, time.Hour)))
	if d := r.Decided; d.Rate != nil || d.Median != nil || d.P95 != nil {
		t.Errorf("%+v", d)
	}
	if r.Settled.Status != (Status{Expired: 1, Cancelled: 1}) {
		t.Errorf("%+v", r.Settled.Status)
	}
}

// TestWindowIsHalfOpen at both ends, for what is asked and for what is settled.
func TestWindowIsHalfOpen(t *testing.T) {
	t.Parallel()
	const tick = time.Microsecond
	for name, c := range map[string]struct {
		created        time.Time
		after          time.Duration
		asked, settled int
	}{
		"first instant":       {october.From, 0, 1, 1},
		"before it":           {october.From.Add(-tick), 0, 0, 0},
		"settled at its end":  {october.To.Add(-tick), tick, 1, 0},
		"asked at its end":    {october.To, 0, 0, 0},
		"asked before it":     {october.From.Add(-tick), tick, 0, 1},
		"last instant":        {october.To.Add(-tick), 0, 1, 1},
		"from end to end":     {october.From, october.To.Sub(october.From), 1, 0},
		"all of it and more":  {october.From.Add(-tick), october.To.Sub(october.From) + 2*tick, 0, 0},
		"in another timezone": {october.From.In(time.FixedZone("", 3600)), 0, 1, 1},
	} {
		r := made(newRequest("req_1", c.created, decidedBy("U2", approvals.Approve, c.after)))
		if r.Asked.Requests != c.asked || r.Settled.Requests != c.settled || r.Answers.Given != c.settled {
			t.Errorf("%s: %d asked, %d settled, %d answers", name, r.Asked.Requests, r.Settled.Requests,
				r.Answers.Given)
		}
	}
}

// TestNotDecidedByPeople is counted apart: in no rate and no time.
func TestNotDecidedByPeople(t *testing.T) {
	t.Parallel()
	standing := func(r *approvals.RequestHead) {
		r.Decisions[0].Standing = &approvals.StandingAnswer{Request: "req_0"}
	}
	r := made(
		newRequest("req_1", noon, decidedBy("U2", approvals.Approve, time.Minute)),
		newRequest("req_2", noon, decidedBy("U2", approvals.AlwaysApprove, time.Hour), standing),
		newRequest("req_3", noon, decidedBy("U2", approvals.AlwaysReject, time.Hour), standing),
		newRequest("req_4", noon, decidedBy("U3", approvals.BreakGlass, time.Second)),
		newRequest("req_5", noon, decidedBy("callback", approvals.ProvideResult, time.Second),
			func(r *approvals.RequestHead) { r.Decisions[0].Via = approvals.ViaCallback }),
	)
	minute, all := 60.0, 1.0
	if diff := cmp.Diff(Decided{Approved: 1, Rate: &all, Median: &minute, P95: &minute}, r.Decided); diff != "" {
		t.Errorf("decided (-want +have):\n%s", diff)
	}
	if r.Apart != (Apart{StandingApproved: 1, StandingRejected: 1, Emergency: 1, Callback: 1}) {
		t.Errorf("%+v", r.Apart)
	}
	if r.Settled.Status != (Status{Approved: 4, Rejected: 1}) || r.Answers.Given != 2 || len(r.Approvers) != 2 {
		t.Errorf("%+v, %+v, %+v", r.Settled, r.Answers, r.Approvers)
	}
	if r.Emergencies.Count != 1 || r.Emergencies.Unreviewed != 1 || r.Emergencies.Requests[0].Request != "req_4" {
		t.Errorf("%+v", r.Emergencies)
	}
}

// TestApprover says of a person how they answered.
func TestApprover(t *testing.T) {
	t.Parallel()
	voided := newRequest("req_6", noon, decidedBy("U2", approvals.Approve, time.Minute))
	voided.Decisions[0].Void, voided.Status, voided.Settled = "left", approvals.RequestPending, time.Time{}
	r := made(
		newRequest("req_1", noon, decidedBy("U2", approvals.Approve, 4999*time.Millisecond)),
		newRequest("req_2", noon, decidedBy("U2", approvals.AlwaysApprove, 5*time.Second)),
		newRequest("req_3", noon, decidedBy("U2", approvals.Reject, time.Minute)),
		newRequest("req_4", noon, decidedBy("U2", approvals.Edit, time.Minute)),
		newRequest("req_5", noon, decidedBy("U1", approvals.Approve, time.Hour)), // their own
		voided,
	)
	five, hour, quarter, no := 5.0, 3600.0, 0.25, 0.0
	want := []Approver{
		{"T1/U1", Answers{Given: 1, Approvals: 1, Own: 1, Median: &hour, FastShare: &no, Via: []Via{{"button", 1}}}, 1},
		{"T1/U2", Answers{Given: 4, Approvals: 2, Rejections: 1, Edits: 1, Always: 1, Voided: 1, Median: &five, Fast: 1,
			FastShare: &quarter, Via: []Via{{"button", 4}}}, 2},
	}
	if diff := cmp.Diff(want, r.Approvers); diff != "" {
		t.Errorf("(-want +have):\n%s", diff)
	}
	if f := r.Fatigue; len(f.Fastest) != 1 || f.Fastest[0].Request != "req_1" || f.Fastest[0].Took != 4.999 {
		t.Errorf("%+v", f.Fastest)
	}
}

// TestPendingAtTheEnd counts what waited then, whatever came of it since.
func TestPendingAtTheEnd(t *testing.T) {
	t.Parallel()
	old := october.From.Add(-24 * time.Hour)
	whole := october.To.Sub(old)
	lapsed := newRequest("req_5", noon, decidedBy("U2", approvals.Approve, time.Hour))
	lapsed.Status, lapsed.Settled = approvals.RequestStale, october.To.Add(time.Hour)
	r := made(
		newRequest("req_1", old), // waits to this day
		newRequest("req_2", noon, decidedBy("U2", approvals.Approve, whole)),     // answered later
		newRequest("req_3", noon, decidedBy("U2", approvals.Approve, time.Hour)), // answered in time
		newRequest("req_4", october.To),                                          // asked later
		lapsed,                                                                   // answered in time, and stale since
		newRequest("req_6", noon, ended(approvals.RequestStale, whole)),          // nobody answered it
	)
	if r.Pending.Requests != 3 || r.Pending.Oldest == nil || *r.Pending.Oldest != whole.Seconds() {
		t.Errorf("%+v", r.Pending)
	}
}

// TestClockThatWasWrong takes the time since when the request has waited in truth, and never less than none.
func TestClockThatWasWrong(t *testing.T) {
	t.Parallel()
	r := newRequest("req_1", noon, decidedBy("U2", approvals.Approve, time.Hour))
	r.Asked = noon.Add(59 * time.Minute)
	if m := made(r).Decided.Median; m == nil || *m != 60 {
		t.Errorf("%v", m)
	}
	r.Asked = noon.Add(2 * time.Hour)
	if m := made(r).Decided.Median; m == nil || *m != 0 {
		t.Errorf("%v", m)
	}
}

// TestManyFastAnswers lists the fastest, counts all and forgets the rest.
func TestManyFastAnswers(t *testing.T) {
	t.Parallel()
	b := New(october)
	const n = 3000
	for i := range n {
		took := time.Duration((i*7919)%n) * time.Millisecond
		at := noon.Add(time.Duration(i) * time.Hour / n)
		b.Add(newRequest("req_"+number(i), at, decidedBy("U2", approvals.Approve, took)))
	}
	r := b.Report()
	if r.Answers.Fast != n || len(r.Fatigue.Fastest) != maxListed {
		t.Errorf("%d fast, %d listed", r.Answers.Fast, len(r.Fatigue.Fastest))
	}
	for i, f := range r.Fatigue.Fastest {
		if f.Took != float64(i)/1000 {
			t.Errorf("number %d took %v", i, f.Took)
		}
	}
	if r.Fatigue.StreakCount != 1 || r.Fatigue.Streaks[0].Length != n || r.Fatigue.BurstCount != 1 {
		t.Errorf("%+v", r.Fatigue)
	}
}

// TestMonth reads months of UTC and nothing else.
func TestMonth(t *testing.T) {
	t.Parallel()
	if w, err := Month("2026-10"); err != nil || w != october {
		t.Errorf("%v, %v", w, err)
	}
	if w, err := Month("2026-12"); err != nil || w.To.Year() != 2027 {
		t.Errorf("%v, %v", w, err)
	}
	for _, word := range []string{"", "2026", "2026-13", "2026-1", "october", "2026-10-01"} {
		if w, err := Month(word); !errors.Is(err, ErrWindow) {
			t.Errorf("%q: %v, %v", word, w, err)
		}
	}
	for from, to := range map[time.Time]time.Time{noon: noon, october.To: october.From} {
		if w, err := NewWindow(from, to); !errors.Is(err, ErrWindow) {
			t.Errorf("%v, %v", w, err)
		}
	}
	if text := october.String(); text != "2026-10-01 to 2026-10-31 (UTC)" {
		t.Error(text)
	}
	half := Window{noon, october.To}
	if text := half.String(); text != "from 2026-10-01 12:00:00, before 2026-11-01 00:00:00 (UTC)" {
		t.Error(text)
	}
}

// TestEntryThatCannotBeRead is told: the trail is damaged.
func TestEntryThatCannotBeRead(t *testing.T) {
	t.Parallel()
	e := &approvals.AuditEntry{Workspace: "T1", Seq: 7, At: noon, Action: approvals.AuditEffectIntent,
		Data: []byte(`{"attempt":`)}
	if New(october).AddEntry(e) == nil {
		t.Error("counted")
	}
}

// TestStreakIsInTime, and of one instant in order of the requests' ids, however requests are added.
func TestStreakIsInTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reject string
		pause  time.Duration
		want   int
	}{
		"no between":             {"req_2", time.Minute, 2},
		"no at the end":          {"req_4", time.Minute, 3},
		"no between, at once":    {"req_2", 0, 2},
		"no at the end, at once": {"req_4", 0, 3},
	} {
		b := New(october)
		for i, id := range []string{"req_3", "req_1", "req_4", "req_2"} {
			verdict := approvals.Approve
			if id == c.reject {
				verdict = approvals.Reject
			}
			order := time.Duration([]int{3, 1, 4, 2}[i])
			b.Add(newRequest(id, noon.Add(order*c.pause), decidedBy("U2", verdict, time.Minute)))
		}
		if r := b.Report(); r.Approvers[0].Streak != c.want {
			t.Errorf("%s: %d, want %d", name, r.Approvers[0].Streak, c.want)
		}
	}
}

// TestTrail counts calls by what let them run, grants, and where the trail ends.
func TestTrail(t *testing.T) {
	t.Parallel()
	b := New(october)
	for i, e := range []approvals.AuditEntry{
		{Action: approvals.AuditEffectIntent, Data: []byte(`{"attempt":1}`)},
		{Action: approvals.AuditEffectIntent, Data: []byte(`{"attempt":2}`)}, // begun again
		{Action: approvals.AuditEffectIntent, Data: []byte(`{"attempt":1,"review":true}`)},
		{Action: approvals.AuditEffectIntent, Data: []byte(`{"attempt":1}`), Request: "req_1"},
		{Action: approvals.AuditEffectIntent, Data: []byte(`{"attempt":1,"standing":"req_1"}`), Request: "req_1"},
		{Action: approvals.AuditEffectIntent, Data: []byte(`{"attempt":1,"grant":"grant_1"}`)},
		{Action: approvals.AuditEffectIntent, Data: []byte(`{"attempt":1,"break_glass":"dec_1"}`), Request: "req_2"},
		{Action: approvals.AuditGrantCreated}, {Action: approvals.AuditGrantUsed}, {Action: approvals.AuditGrantUsed},
		{Action: approvals.AuditGrantDenied}, {Action: approvals.AuditGrantRevoked},
		{Action: approvals.AuditRequestCreated}, {Action: approvals.AuditEffectIntent, At: october.To},
	} {
		e.Workspace, e.Seq, e.Hash = "T1", uint64(i+1), [32]byte{byte(i + 1)}
		if e.At.IsZero() {
			e.At = noon
		}
		if err := b.AddEntry(&e); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.AddEntry(&approvals.AuditEntry{Workspace: "T1", At: noon}); err != nil {
		t.Fatal(err)
	}
	r := b.Report()
	began := Calls{Began: 6, Request: 1, Standing: 1, Grant: 1, Emergency: 1, Gate: 2, Recorded: 1}
	if r.Calls != began {
		t.Errorf("%+v, want %+v", r.Calls, began)
	}
	if want := (Grants{Created: 1, Revoked: 1, Used: 2, Denied: 1}); r.Grants != want || r.Asked.Trail != 1 {
		t.Errorf("%+v, want %+v; %d in the trail", r.Grants, want, r.Asked.Trail)
	}
	want := Trail{Workspace: "T1", Entries: 14, Unsealed: 1, Head: "0e" + strings.Repeat("00", 31)}
	if len(r.Trails) != 1 || r.Trails[0] != want {
		t.Errorf("%+v, want %+v", r.Trails, want)
	}
}

// TestNotes says what is missing: the rest of the window, and what was deleted.
func TestNotes(t *testing.T) {
	t.Parallel()
	r := &Report{Window: october, Generated: october.To, Asked: Asked{Requests: 3, Trail: 3}}
	if all := r.notes(); len(all) != 0 {
		t.Errorf("%q", all)
	}
	r.Generated, r.Asked.Trail = noon, 5
	all := r.notes()
	if len(all) != 2 || !strings.Contains(all[0], "not over") ||
		!strings.Contains(all[1], "of 2 the store has no record") {
		t.Errorf("%q", all)
	}
}

// TestMissing: a request that was settled in the window and deleted since is missing from the rate, also where it was
// made earlier, and the report says so.
func TestMissing(t *testing.T) {
	t.Parallel()
	before, after := october.From.Add(-time.Hour), october.To.Add(time.Hour)
	for name, c := range map[string]struct {
		made, settled, deleted time.Time
		want                   int
	}{
		"made earlier":                 {before, noon, after, 1},
		"made in it":                   {noon, after, after, 1},
		"all in it":                    {noon, noon, noon, 1},
		"kept":                         {noon, noon, time.Time{}, 0},
		"settled earlier":              {before, before, noon, 0},
		"made later":                   {after, after, after, 0},
		"settled at the end of it":     {before, october.To, after, 0},
		"settled at the first instant": {before, october.From, after, 1},
	} {
		b := New(october)
		add := func(action approvals.AuditAction, at time.Time) {
			err := b.AddEntry(&approvals.AuditEntry{Workspace: "T1", Action: action, At: at, Request: "req_1"})
			if err != nil {
				t.Fatal(err)
			}
		}
		if add(approvals.AuditRequestApproved, c.settled); !c.deleted.IsZero() {
			add(approvals.AuditRequestDeleted, c.deleted)
		}
		add(approvals.AuditRequestCreated, c.made)
		r := b.Report()
		r.Generated = after
		said := strings.Contains(strings.Join(r.notes(), "\n"), "deleted since: 1 of the requests")
		if r.Missing != c.want || said != (c.want > 0) {
			t.Errorf("%s: %d are missing, want %d; %q", name, r.Missing, c.want, r.notes())
		}
	}
}
