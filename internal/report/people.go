package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"countersign/approvals"
)

// fast is how soon an answer comes that nobody can have thought about.
const fast = 5 * time.Second

// people are the answers of everybody.
type people map[approvals.UserID]*person

// person is what somebody answered.
type person struct {
	voided  int
	answers []answer
	via     map[string]int
}

// answer is what the report remembers of a decision.
type answer struct {
	at, took int64 // microseconds
	request  approvals.RequestID
	verdict  approvals.Verdict
	own      bool // by whoever asked for the call or has changed it
	high     bool // about a call of high risk
	always   bool
}

func (p people) add(r *approvals.RequestHead, d *approvals.Decision) {
	if d.Standing != nil || d.Via == approvals.ViaCallback {
		return // nobody has looked at this request
	}
	who := p[d.By]
	if who == nil {
		who = &person{via: make(map[string]int)}
		p[approvals.UserID(strings.Clone(string(d.By)))] = who
	}
	if d.Void != "" {
		who.voided++
		return
	}
	who.via[strings.Clone(d.Via)]++
	who.answers = append(who.answers, answer{
		at: d.At.UnixMicro(), took: waited(r, d.At).Microseconds(),
		request: approvals.RequestID(strings.Clone(string(r.ID))), verdict: known(d.Verdict),
		own:    d.Verdict.Affirms() && slices.Contains(r.Principals(), d.By),
		high:   r.Requirement.Risk == approvals.RiskHigh,
		always: d.Verdict == approvals.AlwaysApprove || d.Verdict == approvals.AlwaysReject,
	})
}

// verdicts are all there are.
var verdicts = [...]approvals.Verdict{
	approvals.Approve, approvals.Reject, approvals.AlwaysApprove, approvals.AlwaysReject, approvals.Retry,
	approvals.MarkDone, approvals.GiveUp, approvals.ProvideResult, approvals.BreakGlass, approvals.Edit,
	approvals.ProvideInput, approvals.Answer,
}

// known returns the verdict without the record that it was read from.
func known(v approvals.Verdict) approvals.Verdict {
	if i := slices.Index(verdicts[:], v); i >= 0 {
		return verdicts[i]
	}
	return approvals.Verdict(strings.Clone(string(v)))
}

// fill completes the report with what everybody answered.
func (p people) fill(r *Report) {
	r.Approvers, r.Fatigue = []Approver{}, Fatigue{Fastest: []FastAnswer{}, Streaks: []Series{}, Bursts: []Series{}}
	everybody := new(person)
	everybody.via = make(map[string]int)
	for _, id := range sortedKeys(p) {
		who := p[id]
		slices.SortFunc(who.answers, answer.order)
		a := Approver{Person: id, Answers: who.sum()}
		streaks, longest := who.streaks(id)
		a.Streak = longest
		r.Approvers = append(r.Approvers, a)
		r.Fatigue.Streaks = append(r.Fatigue.Streaks, streaks...)
		r.Fatigue.Bursts = append(r.Fatigue.Bursts, who.bursts(id)...)
		r.Fatigue.add(id, who.answers)
		everybody.join(who)
	}
	r.Answers = everybody.sum()
	r.Fatigue.bound()
}

// order sorts answers by time and, of one instant, by request and verdict.
func (a answer) order(b answer) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.request, b.request), cmp.Compare(a.verdict, b.verdict))
}

func (p *person) join(o *person) {
	p.voided += o.voided
	p.answers = append(p.answers, o.answers...)
	for name, n := range o.via {
		p.via[name] += n
	}
}

// sum counts the answers.
func (p *person) sum() Answers {
	s := Answers{Given: len(p.answers), Voided: p.voided, Median: median(p.answers), Via: []Via{}}
	for i := range p.answers {
		a := &p.answers[i]
		switch {
		case a.verdict == approvals.BreakGlass:
			s.Emergency++
		case a.verdict == approvals.Edit:
			s.Edits++
		case a.verdict.Affirms():
			s.Approvals++
		default:
			s.Rejections++
		}
		s.Always += one(a.always)
		s.Own += one(a.own)
		s.Fast += one(a.fast())
	}
	s.FastShare = share(s.Fast, s.Given)
	for _, name := range sortedKeys(p.via) {
		s.Via = append(s.Via, Via{name, p.via[name]})
	}
	return s
}

func (a *answer) fast() bool { return a.took < fast.Microseconds() }

// approves reports whether the answer is one of a streak.
func (a *answer) approves() bool { return a.verdict.Affirms() && a.verdict != approvals.BreakGlass }

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func median(answers []answer) *float64 {
	took := make([]int64, len(answers))
	for i := range answers {
		took[i] = answers[i].took
	}
	slices.Sort(took)
	return percentile(took, 50)
}
