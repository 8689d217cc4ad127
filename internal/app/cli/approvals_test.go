package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/control"
)

// TestBothFacts: "show" and the list say how a request stands and what became of its call.
func TestBothFacts(t *testing.T) {
	t.Parallel()
	const at, then = "2026-11-02T15:01:00Z", "2026-11-02T15:02:00Z"
	for _, c := range []struct {
		status                  approvals.RequestStatus
		outcome                 approvals.Outcome
		showStatus, show, table string
	}{
		{approvals.RequestPending, approvals.OutcomeNone, "pending", "not known yet: the request waits for people",
			"pending -"},
		{approvals.RequestApproved, approvals.OutcomeNone, "approved, since " + at, "waits for its turn since " + at,
			"approved waits for its turn"},
		{approvals.RequestApproved, approvals.OutcomeRunning, "approved, since " + at, "running since " + then,
			"approved running"},
		{approvals.RequestApproved, approvals.OutcomeRan, "approved, since " + at, "ran at " + then, "approved ran"},
		{approvals.RequestApproved, approvals.OutcomeFailed, "approved, since " + at, "failed at " + then,
			"approved failed"},
		{approvals.RequestApproved, approvals.OutcomeUnknown, "approved, since " + at, "unknown since " + then,
			"approved unknown"},
		{approvals.RequestApproved, approvals.OutcomeNotRun, "approved, since " + at, "not run since " + then,
			"approved not run"},
		{approvals.RequestRejected, approvals.OutcomeNotRun, "rejected, since " + at, "not run since " + then,
			"rejected not run"},
		{approvals.RequestExpired, approvals.OutcomeNotRun, "expired, since " + at, "not run since " + then,
			"expired not run"},
		{approvals.RequestCancelled, approvals.OutcomeNotRun, "cancelled, since " + at, "not run since " + then,
			"cancelled not run"},
		{approvals.RequestStale, approvals.OutcomeNotRun, "stale, since " + at, "not run since " + then,
			"stale not run"},
	} {
		t.Run(string(c.status)+" "+string(c.outcome), func(t *testing.T) {
			t.Parallel()
			r := newRequest("req_1")
			if c.status != approvals.RequestPending {
				r = newRequest("req_1", stands(c.status, c.outcome))
			}
			shown := fields(t, func(p *Program) error { return (&showCommand{}).print(p, r) })
			if shown["status"] != c.showStatus || shown["outcome"] != c.show {
				t.Errorf("show: status %q and outcome %q, want %q and %q", shown["status"], shown["outcome"],
					c.showStatus, c.show)
			}
			p, out, _ := capture()
			if err := (&listCommand{}).list(t.Context(), &p, newDesk(t, r)); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(out.String(), "\n")
			if heading := squeezed(lines[0]); !strings.Contains(heading, "STATUS CALL ASKED") {
				t.Errorf("list: the heading is %q", heading)
			}
			if row := squeezed(lines[1]); !strings.Contains(row, "C1 "+c.table+" ") {
				t.Errorf("list: %q, want %q", row, c.table)
			}
		})
	}
}

// fields reads what "show" prints: the values by their names, several of one name joined.
func fields(t *testing.T, print func(*Program) error) map[string]string {
	t.Helper()
	p, out, _ := capture()
	if err := print(&p); err != nil {
		t.Fatal(err)
	}
	all := make(map[string]string)
	for line := range strings.Lines(out.String()) {
		if len(line) < 13 || line[0] == ' ' {
			continue
		}
		name, value := strings.TrimSpace(line[:12]), strings.TrimSpace(line[12:])
		if all[name] != "" {
			value = all[name] + "\n" + value
		}
		all[name] = value
	}
	return all
}

func squeezed(s string) string { return strings.Join(strings.Fields(s), " ") }

// TestShowSaysWhatADecisionRestsOn: the standing answer it follows from, and why it counts no longer.
func TestShowSaysWhatADecisionRestsOn(t *testing.T) {
	t.Parallel()
	r := newRequest("req_2", answered("U2", approvals.Approve, void("left the channel")),
		answered("U3", approvals.Approve, following("req_1"), func(d *approvals.Decision) { d.Reason = "as agreed" }),
		stands(approvals.RequestCancelled, approvals.OutcomeNotRun), func(r *approvals.Request) {
			r.CancelledBy, r.Note, r.Supersedes, r.SupersededBy = "T1/U1", "The run has ended.", "req_0", "req_3"
		})
	got := fields(t, func(p *Program) error { return (&showCommand{}).print(p, r) })
	for name, want := range map[string]string{
		"decision": "approve by U2 via button at 2026-11-02T15:01:00Z, counts no longer (left the channel)\n" +
			"approve by U3 via button at 2026-11-02T15:01:00Z, following from the standing answer to req_1: as agreed",
		"status":      "cancelled by U1, since 2026-11-02T15:01:00Z",
		"note":        "The run has ended.",
		"replaces":    "req_0",
		"replaced by": "req_3",
	} {
		if diff := cmp.Diff(want, got[name]); diff != "" {
			t.Errorf("%s (-want +have):\n%s", name, diff)
		}
	}
}

// TestNotApprovedByWhoeverCancelled: of an approved call that never began because its run was cancelled, the person who
// cancelled is named for that, and not for the approval.
func TestNotApprovedByWhoeverCancelled(t *testing.T) {
	t.Parallel()
	r := newRequest("req_1", answered("U2", approvals.Approve),
		stands(approvals.RequestApproved, approvals.OutcomeNotRun),
		func(r *approvals.Request) { r.CancelledBy = "T1/U1" })
	got := fields(t, func(p *Program) error { return (&showCommand{}).print(p, r) })
	for name, want := range map[string]string{
		"status":  "approved, since 2026-11-02T15:01:00Z",
		"outcome": "not run since 2026-11-02T15:02:00Z; U1 cancelled the run first",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	const want = "req_1 approval of pay: approved, not run; U1 cancelled the run first"
	if line := requestLine(&r.RequestHead); line != want {
		t.Errorf("of the run: %q, want %q", line, want)
	}
}

// TestWhatAnApprovedCallWaitsFor: one that has its values or its approval may wait for people once more, and then it is
// not its turn that it waits for.
func TestWhatAnApprovedCallWaitsFor(t *testing.T) {
	t.Parallel()
	const at = "2026-11-02T15:01:00Z"
	external := func(r *approvals.Request) { r.Tool.Kind = agent.KindExternal }
	replaced := func(r *approvals.Request) { r.SupersededBy = "req_2" }
	for name, c := range map[string]struct {
		kind                      agent.InterruptionKind
		more                      []func(*approvals.Request)
		word, show, said, verdict string
	}{
		"values, asked about next": {agent.FieldsRequired, []func(*approvals.Request){replaced}, "asked about next",
			"asked about next, as req_2, since " + at, "req_2 asks about the call with its values.", "provide_input"},
		"values, so far": {agent.FieldsRequired, nil, "waits for its turn", "waits for its turn since " + at,
			"The call has its values and waits for its turn; where it needs approval, people are asked about it next.",
			"provide_input"},
		"to be carried out elsewhere": {agent.Confirm, []func(*approvals.Request){external}, "waits for its result",
			"waits for its result since " + at,
			"The call is carried out elsewhere, and another request waits for its result.", "approve"},
		"the bot's own": {agent.Confirm, nil, "waits for its turn", "waits for its turn since " + at,
			"The call waits for its turn.", "approve"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := append([]func(*approvals.Request){of(c.kind), answered("U2", approvals.Verdict(c.verdict)),
				stands(approvals.RequestApproved, "")}, c.more...)
			r := newRequest("req_1", all...)
			if word := callWord(&r.RequestHead); word != c.word {
				t.Errorf("list: %q, want %q", word, c.word)
			}
			if line := callLine(&r.RequestHead); line != c.show {
				t.Errorf("show: %q, want %q", line, c.show)
			}
			if said := callSentence(&r.RequestHead); said != c.said {
				t.Errorf("decide: %q, want %q", said, c.said)
			}
		})
	}
}

// TestShowJSON is one object, with the outcome also where it is empty.
func TestShowJSON(t *testing.T) {
	t.Parallel()
	for _, outcome := range []approvals.Outcome{approvals.OutcomeNone, approvals.OutcomeRan} {
		r := newRequest("req_1", stands(approvals.RequestApproved, outcome))
		r.Digest[0] = 0xab
		p, out, _ := capture()
		if err := (&showCommand{JSON: true}).print(&p, r); err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"id": "req_1", "run": "run_1", "status": "approved",
			"digest": "ab" + strings.Repeat("0", 62), "outcome": string(outcome)} {
			if have, ok := got[name]; !ok || have != want {
				t.Errorf("%s: %v, want %q", name, have, want)
			}
		}
	}
}

// TestDecideSaysWhatItCameTo with the last line of "approvals decide".
func TestDecideSaysWhatItCameTo(t *testing.T) {
	t.Parallel()
	needs := " It needs 2 of group S1, not the requester; so far "
	for name, c := range map[string]struct {
		request *approvals.Request
		others  []*approvals.Request
		want    string
	}{
		"approved": {newRequest("req_1", answered("U2", approvals.Approve), stands(approvals.RequestApproved, "")), nil,
			"req_1 is approved. The call waits for its turn.\n"},
		"approved and ran by the time the answer was read back": {newRequest("req_1", answered("U2", approvals.Approve),
			stands(approvals.RequestApproved, approvals.OutcomeRan)), nil, "req_1 is approved. The call ran.\n"},
		"the first of two": {newRequest("req_1", answered("U2", approvals.Approve)), nil,
			"req_1 is pending: the answer of U2 is recorded, and others still have to answer." + needs +
				"1 person has agreed.\n"},
		"the first rejection of two": {newRequest("req_1", answered("U2", approvals.Reject)), nil,
			"req_1 is pending: the answer of U2 is recorded, and others still have to answer." + needs +
				"nobody has agreed.\n"},
		"an earlier answer has lost its right": {newRequest("req_1",
			answered("U3", approvals.Approve, void("not a regular member of the workspace")),
			answered("U2", approvals.Approve)), nil,
			"req_1 is pending: the answer of U2 is recorded, and others still have to answer." + needs +
				"1 person has agreed.\nThe answer of U3 counts no longer: not a regular member of the workspace.\n"},
		"rejected": {newRequest("req_1", answered("U2", approvals.Reject),
			stands(approvals.RequestRejected, approvals.OutcomeNotRun)), nil,
			"req_1 is rejected. The call was not run.\n"},
		"out of reach": {newRequest("req_1", answered("U2", approvals.Reject),
			stands(approvals.RequestRejected, approvals.OutcomeNotRun),
			func(r *approvals.Request) { r.Note = "Too few people are left who could approve this." }), nil,
			"req_1 is rejected. Too few people are left who could approve this. The call was not run.\n"},
		"cancelled meanwhile": {newRequest("req_1", answered("U2", approvals.Approve),
			stands(approvals.RequestCancelled, approvals.OutcomeNotRun),
			func(r *approvals.Request) { r.CancelledBy = "T1/U9" }), nil,
			"req_1 is cancelled by U9. The call was not run.\n"},
		"retry": {newRequest("req_1", of(agent.OutcomeUnknown), answered("U2", approvals.Retry),
			stands(approvals.RequestApproved, "")), nil,
			"req_1 is approved. The call waits for its turn to run again.\n"},
		"mark done": {newRequest("req_1", of(agent.OutcomeUnknown), answered("U2", approvals.MarkDone),
			stands(approvals.RequestApproved, approvals.OutcomeRan)), nil,
			"req_1 is approved. The call ran, as U2 reports.\n"},
		"give up": {newRequest("req_1", of(agent.OutcomeUnknown), answered("U2", approvals.GiveUp),
			stands(approvals.RequestRejected, approvals.OutcomeUnknown)), nil,
			"req_1 is rejected. It is unknown whether the call ran.\n"},
		"result": {newRequest("req_1", of(agent.ExternalResult), answered("U2", approvals.ProvideResult),
			stands(approvals.RequestApproved, approvals.OutcomeRan)), nil,
			"req_1 is approved. The call ran, as U2 reports.\n"},
		"always": {newRequest("req_1", answered("U2", approvals.AlwaysApprove), stands(approvals.RequestApproved, "")),
			[]*approvals.Request{
				newRequest("req_2", answered("U2", approvals.Approve, following("req_1")),
					stands(approvals.RequestApproved, "")),
				newRequest("req_3"), // has a policy of its own that the answer does not meet
				newRequest("req_4", answered("U2", approvals.Approve, following("req_0")),
					stands(approvals.RequestApproved, "")), // by another answer
				newRequest("req_5", answered("U2", approvals.Approve, following("req_1")),
					stands(approvals.RequestApproved, approvals.OutcomeRan)),
			},
			"req_1 is approved. The call waits for its turn.\n" +
				"It settles other waiting calls of pay too: req_2, req_5.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, out, complaints := capture()
			desk := newDesk(t, append(c.others, c.request)...)
			if err := (&decideCommand{As: "U2"}).conclude(t.Context(), &p, desk, c.request); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, out.String()+complaints.String()); diff != "" {
				t.Errorf("(-want +have):\n%s", diff)
			}
		})
	}
}

// TestListSays: the table, lines of JSON, the number, and what stands there for nothing.
func TestListSays(t *testing.T) {
	t.Parallel()
	ran := newRequest("req_2", stands(approvals.RequestApproved, approvals.OutcomeRan))
	desk := newDesk(t, newRequest("req_1"), ran, newRequest("req_3"))
	pending := control.Query{Status: approvals.RequestPending}
	for name, c := range map[string]struct {
		list *listCommand
		want []string // one for each line
	}{
		"pending": {&listCommand{query: pending},
			[]string{"ID ASKS FOR", "req_1 approval pay", "req_3 approval pay"}},
		"all":         {&listCommand{}, []string{"ID ASKS FOR", "req_1 ", "req_2 ", "req_3 "}},
		"limit":       {&listCommand{Limit: 2}, []string{"ID ASKS FOR", "req_1 ", "req_2 "}},
		"count":       {&listCommand{Count: true}, []string{"3"}},
		"count, JSON": {&listCommand{Count: true, JSON: true}, []string{`{"count":3}`}},
		"JSON": {&listCommand{JSON: true}, []string{
			`"status":"pending","outcome":""`, `"status":"approved","outcome":"ran"`, `"id":"req_3"`}},
		"nothing":        {&listCommand{query: control.Query{Run: "run_2"}}, []string{"No request matches."}},
		"nothing, count": {&listCommand{query: control.Query{Run: "run_2"}, Count: true}, []string{"0"}},
		"nothing pending": {&listCommand{query: control.Query{Status: "pending", Run: "run_2"}},
			[]string{"No pending request matches."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, out, _ := capture()
			if err := c.list.list(t.Context(), &p, desk); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if len(lines) != len(c.want) {
				t.Fatalf("%d lines, want %d:\n%s", len(lines), len(c.want), out)
			}
			for i, want := range c.want {
				if !strings.Contains(squeezed(lines[i]), want) {
					t.Errorf("line %d is %q, want %q", i, lines[i], want)
				}
			}
			if strings.Contains(out.String(), "amount") {
				t.Errorf("arguments are listed:\n%s", out)
			}
		})
	}
	p, out, _ := capture()
	if err := (&listCommand{query: pending}).list(t.Context(), &p, newDesk(t)); err != nil ||
		out.String() != "Nothing is pending.\n" {
		t.Errorf("an empty store: %q, %v", out, err)
	}
}

// TestListGoesThroughAllPages prints more than a page, and stops at its limit wherever that is.
func TestListGoesThroughAllPages(t *testing.T) {
	t.Parallel()
	var all []*approvals.Request
	for i := range 450 {
		all = append(all, newRequest(fmt.Sprintf("req_%03d", i)))
	}
	desk := newDesk(t, all...)
	for _, limit := range []int{0, 1, 199, 200, 201, 400, 450, 1000} {
		p, out, _ := capture()
		if err := (&listCommand{JSON: true, Limit: limit}).list(t.Context(), &p, desk); err != nil {
			t.Fatal(err)
		}
		want := 450
		if limit > 0 {
			want = min(limit, 450)
		}
		if n := strings.Count(out.String(), "\n"); n != want || !strings.Contains(out.String(), `"req_000"`) {
			t.Errorf("limit %d: %d lines, want %d", limit, n, want)
		}
	}
}

// TestFlagsAreRefused with the list of right values.
func TestFlagsAreRefused(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"approvals list --status done": "approved, rejected, expired, cancelled, stale, " +
			"superseded, review, audit, all",
		"approvals list --since yesterday":     "or how long ago, such as 24h or 7d",
		"approvals list --since -24h":          "or how long ago",
		"approvals list --until 2026-11-02":    "a date and time as in RFC 3339",
		"approvals list --tool=":               "leave the flag out",
		"approvals list --count --limit 3":     "--count counts all of them",
		"approvals list --since 1h --until 2h": "no request can match",
		"approvals export --from 1h --to 2h":   "no request can match",
		"audit export --since 1h --until 2h":   "no entry can match",

		"approvals decide req_1 --as U1":                           "--always-approve, --always-reject",
		"approvals decide req_1 --always-approve --always --as U1": "--always goes with --approve or --reject",
	} {
		p, _, complaints := capture(strings.Fields(args)...)
		if code := Main(t.Context(), p); code != exitUsage || !strings.Contains(complaints.String(), want) {
			t.Errorf("%s: %d, want %d and %q:\n%s", args, code, exitUsage, want, complaints)
		}
	}
}

// TestShowSaysWhatAnAnswerLeavesOpen: a call that failed with a gateway's answer may have acted.
func TestShowSaysWhatAnAnswerLeavesOpen(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{422: ": HTTP 422", 504: ": HTTP 504, it may have acted all the same"} {
		r := newRequest("req_1", stands(approvals.RequestApproved, approvals.OutcomeFailed))
		r.OutcomeStatus.HTTP = status
		shown := fields(t, func(p *Program) error { return (&showCommand{}).print(p, r) })
		if !strings.HasSuffix(shown["outcome"], want) {
			t.Errorf("outcome %q, want %q", shown["outcome"], want)
		}
	}
}
