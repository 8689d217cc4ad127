package report

import "fmt"

// section is a part of the report, the same on paper and in a terminal.
type section struct {
	id, title, about string
	tables           []table
}

// table has a row of heads, rows, and perhaps a last row with sums.
type table struct {
	title string
	head  []string
	rows  [][]string
	total []string
	texts int // so many columns are texts, the others numbers
	empty string
}

// sections are the parts of the report in order.
func (r *Report) sections() []section {
	return []section{
		r.endsSection(), r.decidedSection(),
		groupSection("tools", "Tools", "tool", r.Tools, none),
		groupSection("agents", "Agents", "agent", r.Agents, none),
		groupSection("policies", "Policies", "policy", r.Policies, "(without a name)"), r.kindsSection(),
		r.approversSection(), r.fatigueSection(), r.callsSection(), r.emergencySection(), r.trailSection(),
	}
}

func (r *Report) endsSection() section {
	t := table{
		head:  []string{"Status", "Settled", "Ran", "Failed", "Not run", "Unknown", "Running", "Not known yet"},
		texts: 1, empty: "Nothing was settled.",
	}
	var sum Outcomes
	for _, o := range r.Settled.Outcomes {
		t.rows = append(t.rows, outcomeRow(string(o.Status), &o))
		sum.Ran, sum.Failed, sum.NotRun = sum.Ran+o.Ran, sum.Failed+o.Failed, sum.NotRun+o.NotRun
		sum.Unknown, sum.Running, sum.Open = sum.Unknown+o.Unknown, sum.Running+o.Running, sum.Open+o.Open
	}
	t.total = outcomeRow("all", &sum)
	return section{"ends", "How requests ended", "Requests that were settled in the window, and what has become of " +
		"their calls since.", []table{t}}
}

func outcomeRow(name string, o *Outcomes) []string {
	return numbers([]string{name}, o.Sum(), o.Ran, o.Failed, o.NotRun, o.Unknown, o.Running, o.Open)
}

func numbers(row []string, counts ...int) []string {
	for _, n := range counts {
		row = append(row, number(n))
	}
	return row
}

func (r *Report) decidedSection() section {
	by := table{title: "Who decided", head: []string{"What settled it", "Approved", "Rejected"}, texts: 1}
	by.rows = [][]string{
		numbers([]string{"people, about this request"}, r.Decided.Approved, r.Decided.Rejected),
		numbers([]string{"an “always” of people to another request"}, r.Apart.StandingApproved,
			r.Apart.StandingRejected),
		numbers([]string{"one person, past the policy"}, r.Apart.Emergency, 0),
		numbers([]string{"a system, by its callback"}, r.Apart.Callback, 0),
	}
	by.total = numbers([]string{"all"}, r.Settled.Status.Approved, r.Settled.Status.Rejected)
	times := table{title: "Time to decision", head: []string{"Waited", "Approved", "Rejected"}, texts: 1}
	for _, c := range r.Times {
		times.rows = append(times.rows, numbers([]string{class(c)}, c.Approved, c.Rejected))
	}
	times.total = numbers([]string{"all"}, r.Decided.Approved, r.Decided.Rejected)
	about := fmt.Sprintf("People decided %s requests, one by one: approval rate %s, median time to decision %s, "+
		"95th percentile %s. All else is counted apart and is in neither.",
		number(r.Decided.Approved+r.Decided.Rejected), percent(r.Decided.Rate), span(r.Decided.Median),
		span(r.Decided.P95))
	return section{"decided", "What people decided", about, []table{by, times}}
}

func groupSection(id, title, head string, groups []Group, unnamed string) section {
	t := table{texts: 1, empty: "None.", head: []string{"By " + head, "Asked", "Approved", "Rejected", "Expired",
		"Cancelled", "Stale", "Superseded", "Decided by people", "Approval rate", "Median time", "p95 time"}}
	for _, g := range groups {
		name := g.Name
		if name == "" {
			name = unnamed
		}
		s := &g.Settled
		row := numbers([]string{name}, g.Asked, s.Approved, s.Rejected, s.Expired, s.Cancelled, s.Stale, s.Superseded,
			g.Decided.Approved+g.Decided.Rejected)
		t.rows = append(t.rows, append(row, percent(g.Decided.Rate), span(g.Decided.Median), span(g.Decided.P95)))
	}
	return section{id, title, "", []table{t}}
}

func (r *Report) kindsSection() section {
	kinds := make([]Group, len(r.Kinds))
	for i, g := range r.Kinds {
		kinds[i], kinds[i].Name = g, kindWords(g.Name)
	}
	return groupSection("kinds", "What was asked", "question", kinds, none)
}

func (r *Report) approversSection() section {
	t := table{texts: 1, empty: "Nobody answered anything.", head: []string{"Person", "Answers", "Approvals",
		"Rejections", "Edits", "Past policy", "“Always”", "Own calls", "Voided", "Median time", "Under 5 s", "Share",
		"Longest streak"}}
	row := func(name string, a *Answers, streak string) []string {
		row := numbers([]string{name}, a.Given, a.Approvals, a.Rejections, a.Edits, a.Emergency, a.Always, a.Own,
			a.Voided)
		return append(row, span(a.Median), number(a.Fast), percent(a.FastShare), streak)
	}
	for i := range r.Approvers {
		a := &r.Approvers[i]
		t.rows = append(t.rows, row(r.who(a.Person), &a.Answers, number(a.Streak)))
	}
	t.total = row("all", &r.Answers, "")
	via := table{title: "The way they came", texts: 1, empty: "None.", head: []string{"By way of", "Answers"}}
	for _, v := range r.Answers.Via {
		via.rows = append(via.rows, numbers([]string{v.Name}, v.Answers))
	}
	return section{"approvers", "Approvers", "Each answer of each person that was given in the window, also where it " +
		"took more people, or the request ended otherwise.", []table{t, via}}
}
