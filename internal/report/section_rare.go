package report

import "fmt"

func (r *Report) fatigueSection() section {
	f := &r.Fatigue
	fastest := table{title: "Fastest answers", texts: 4, empty: "No answer came in under five seconds.",
		head: []string{"Request", "Person", "Answer", "Answered at (UTC)", "After"}}
	for _, a := range f.Fastest {
		fastest.rows = append(fastest.rows, []string{string(a.Request), r.who(a.Person), string(a.Verdict),
			shortTime(a.At), span(&a.Took)})
	}
	streaks := r.seriesTable(fmt.Sprintf("Streaks: %d or more approvals in a row (%s)", longStreak,
		number(f.StreakCount)), "No streak is that long.", f.Streaks)
	bursts := r.seriesTable(fmt.Sprintf("Bursts: %d or more answers within %d minutes (%s)", burstLength,
		int(burstTime.Minutes()), number(f.BurstCount)), "There was no burst.", f.Bursts)
	about := fmt.Sprintf("Signs that answers were given without looking. They prove nothing by themselves. "+
		"Under five seconds: %s of %s answers, %s of them about calls of high risk.",
		number(r.Answers.Fast), number(r.Answers.Given), number(f.HighRisk))
	return section{"fatigue", "Signs of fatigue", about, []table{fastest, streaks, bursts}}
}

func (r *Report) seriesTable(title, empty string, all []Series) table {
	t := table{title: title, empty: empty, texts: 3,
		head: []string{"Person", "First (UTC)", "Last (UTC)", "Answers", "Median time"}}
	for _, s := range all {
		t.rows = append(t.rows, []string{r.who(s.Person), shortTime(s.From), shortTime(s.To), number(s.Length),
			span(s.Median)})
	}
	return t
}

func (r *Report) callsSection() section {
	c, g := &r.Calls, &r.Grants
	calls := table{title: "Calls that began", texts: 1, head: []string{"What let them run", "Calls"}}
	calls.rows = [][]string{
		numbers([]string{"a request about the call was approved"}, c.Request),
		numbers([]string{"an “always” for the rest of the run covered it"}, c.Standing),
		numbers([]string{"a grant covered it"}, c.Grant),
		numbers([]string{"somebody broke the glass"}, c.Emergency),
		numbers([]string{"the tool’s gate, recorded for review"}, c.Recorded),
		numbers([]string{"the tool’s gate"}, c.Gate-c.Recorded),
	}
	calls.total = numbers([]string{"all"}, c.Began)
	grants := table{title: "Grants", texts: 1, head: []string{"What happened", "Times"}, rows: [][]string{
		numbers([]string{"created"}, g.Created), numbers([]string{"revoked"}, g.Revoked),
		numbers([]string{"used"}, g.Used), numbers([]string{"rejected a call"}, g.Denied),
	}}
	return section{"calls", "What ran, and what let it run", "From the audit trail. Where an “always”, a grant or " +
		"the tool’s gate let a call run, nobody decided about it at that moment.", []table{calls, grants}}
}

func (r *Report) emergencySection() section {
	e := &r.Emergencies
	t := table{texts: 5, empty: "Nobody broke the glass.",
		head: []string{"Request", "Tool", "Person", "At (UTC)", "Review"}}
	for i := range e.Requests {
		x := &e.Requests[i]
		t.rows = append(t.rows, []string{string(x.Request), x.Tool, r.who(x.Person), shortTime(x.At),
			reviewWords(x, r.who)})
	}
	about := fmt.Sprintf("Requests that one person approved past the policy: %s, of which %s without a review so far. "+
		"Reviews given in the window: %s accepted, %s objected.", number(e.Count), number(e.Unreviewed),
		number(e.Accepted), number(e.Objected))
	return section{"emergencies", "Emergency decisions", about, []table{t}}
}

func (r *Report) trailSection() section {
	t := table{texts: 2, empty: "There is no audit trail.",
		head: []string{"Workspace", "Hash of the newest entry", "Entries", "Not linked yet"}}
	for _, x := range r.Trails {
		head := x.Head
		if head == "" {
			head = none
		}
		t.rows = append(t.rows, []string{string(x.Workspace), head, number(int(x.Entries)), number(int(x.Unsealed))})
	}
	return section{"trail", "The audit trail behind this", "This is where the trail ended when the report was made. " +
		"The report has not verified it: “countersign audit verify --head HASH” says whether the records " +
		"still go on from there.", []table{t}}
}

// notes are what a reader has to know before any figure.
func (r *Report) notes() (all []string) {
	if r.Generated.Before(r.Window.To) {
		all = append(all, "The window was not over when this was made: later reports will have more.")
	}
	if r.Missing > 0 {
		all = append(all, fmt.Sprintf("Missing, because deleted since: %s of the requests that were made, answered, "+
			"settled or reviewed in the window. Rates, times and counts are of the others alone.", number(r.Missing)))
	}
	if gone := r.Asked.Trail - r.Asked.Requests; gone > 0 {
		all = append(all, fmt.Sprintf("The audit trail tells of %s requests made in the window; of %s the store has "+
			"no record any more, and they are missing from all figures but those from the trail.",
			number(r.Asked.Trail), number(gone)))
	}
	return all
}

// definition says what a word of the report means.
type definition struct{ word, means string }

// definitions are the figures of the report; docs/report.md has the same at length.
func definitions() []definition {
	return []definition{
		{"Window", "Half open and in UTC: its first instant is in it, its end is not. Windows that adjoin share " +
			"nothing."},
		{"Asked", "Requests that were made in the window, by how they stood when the report was made."},
		{"Settled", "Requests that reached their status in the window. An approval that became stale later is stale, " +
			"settled when it became so."},
		{"Decided by people", "Approved or rejected, and the answer that settled it was given by a person to this " +
			"very request, under its policy."},
		{"Approval rate", "Approved of approved and rejected, of what people decided. Without any there is no " +
			"rate (–)."},
		{"Time to decision", "From when the request was made until it was settled, of what people decided. Median " +
			"and p95 are by nearest rank: the shortest time that occurred within which 50 or 95 of 100 were decided."},
		{"Median time", "In the table of approvers: from when the request was made until the person answered."},
		{"Own calls", "Approvals by whoever had asked for the call or changed its arguments."},
		{"Voided", "Answers that count no longer, because the person had lost the right when the request was to be " +
			"settled. They are in no other column."},
		{"Streak", "Approvals of one person with no other answer of that person between. Answers of one instant are " +
			"in order of the requests’ ids."},
		{"Waiting", "Requests that were made before the end of the window and were waiting for people then."},
		{"People", "Are named by their Slack ids, which never change; names do."},
	}
}
