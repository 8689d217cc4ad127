package testrun

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"countersign/approvals"
	"countersign/internal/slackdev"
	"countersign/internal/testfile"
)

// card compares the card that the step is about: what the store holds, and what each copy of it shows.
func (p *play) card(ctx context.Context) (missing []Failure, err error) {
	s := p.step
	if s.Card == "" {
		return nil, nil
	}
	r, err := p.request(ctx, p.requests[s.Card])
	if err != nil {
		return nil, err
	}
	note := func(what, expected, got string) {
		missing = append(missing, p.failure(what+" of card "+s.Card, expected, got))
	}
	if s.Status != "" {
		if got := p.statusDiffers(r, s.Status); got != "" {
			note("status", s.Status, got)
		}
	}
	if s.Outcome != "" {
		if got := p.outcomeDiffers(r, s.Outcome); got != "" {
			note("outcome", s.Outcome, got)
		}
	}
	if s.DecidedBy != nil {
		if got := p.decidersDiffer(r, *s.DecidedBy); got != "" {
			note("deciders", names(*s.DecidedBy), got)
		}
	}
	if got := p.textDiffers(r.ID, s.Shows, nil); got != "" {
		note("text", strings.Join(s.Shows, ", "), got)
	}
	return missing, nil
}

// statusDiffers says how the request stands instead, or "".
func (p *play) statusDiffers(r *approvals.Request, want string) string {
	if string(r.Status) != want {
		got := fmt.Sprintf("%s, decided by %s", r.Status, names(p.deciders(r)))
		if r.Note != "" {
			got += " (" + r.Note + ")"
		}
		return got
	}
	for _, m := range p.copies(r.ID) {
		if r.Status == approvals.RequestPending && !waits(m) {
			return "pending in the store, but the card takes no answer:\n" + p.shown(m)
		}
		if r.Status != approvals.RequestPending && (waits(m) || !saysStatus(m.Shown(), want)) {
			return want + " in the store, but the card says:\n" + p.shown(m)
		}
	}
	return ""
}

// saysStatus reports whether a line of a card begins with the word. Words elsewhere may be those of arguments.
func saysStatus(text, status string) bool {
	if status == string(approvals.RequestSuperseded) {
		status = string(approvals.RequestStale) // which is what cards call it
	}
	return beginsLine(text, strings.ToUpper(status[:1])+status[1:])
}

// saysOutcome reports whether a line of a card says that this became of the call.
func saysOutcome(text, outcome string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		for part := range strings.SplitSeq(line, " · ") {
			if beginsLine(part, outcome) {
				return true
			}
		}
	}
	return false
}

// beginsLine reports whether a line of the text begins with the words and goes on with others, or ends.
func beginsLine(text, words string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		rest, ok := strings.CutPrefix(line, words)
		if ok && (rest == "" || strings.ContainsAny(rest[:1], " ,.:;")) {
			return true
		}
	}
	return false
}

// waits reports whether the card takes answers.
func waits(m slackdev.Message) bool {
	return slices.ContainsFunc([]string{"approve", "reject", "provide_result", "provide_input", "mark_done", "give_up"},
		func(action string) bool { _, ok := button(m, action); return ok })
}

// outcomeDiffers says what became of the call instead, or "".
func (p *play) outcomeDiffers(r *approvals.Request, want string) string {
	if string(r.Outcome) != want {
		if r.Outcome == approvals.OutcomeNone {
			return "nothing yet"
		}
		return string(r.Outcome)
	}
	for _, m := range p.copies(r.ID) {
		if !saysOutcome(m.Shown(), want) {
			return want + " in the store, but the card says:\n" + p.shown(m)
		}
	}
	return ""
}

// deciders are the people whose answers count, in their order.
func (p *play) deciders(r *approvals.Request) (people []string) {
	for _, d := range r.Decisions {
		if d.Void == "" {
			people = append(people, p.person(string(d.By)))
		}
	}
	return people
}

// decidersDiffer says who has answered instead, or "".
func (p *play) decidersDiffer(r *approvals.Request, want []string) string {
	if got := p.deciders(r); !slices.Equal(got, want) {
		return names(got)
	}
	for _, m := range p.copies(r.ID) {
		for _, name := range want {
			if !strings.Contains(p.shown(m), "@"+name) {
				return "the card does not name " + name + ":\n" + p.shown(m)
			}
		}
	}
	return ""
}

func names(people []string) string {
	if len(people) == 0 {
		return "nobody"
	}
	return strings.Join(people, ", ")
}

// trailNow compares the run and the audit trail.
func (p *play) trailNow(ctx context.Context) (missing []Failure, err error) {
	if p.step.Run == "" && len(p.step.Audit) == 0 {
		return nil, nil
	}
	trail, err := p.trail(ctx)
	if err != nil {
		return nil, err
	}
	if f := p.auditDiffers(trail[min(p.entries, len(trail)):]); f != nil {
		missing = append(missing, *f)
	}
	if p.step.Run == "" {
		return missing, nil
	}
	run, err := p.run(ctx, trail)
	if err != nil {
		return nil, err
	}
	if got := runOf(trail, run); got != p.step.Run {
		return append(missing, p.failure("the run", p.step.Run, got)), nil
	}
	p.told = append(p.told, runEnd{run, p.step.Run})
	return missing, nil
}

// run is the run that the step is about: that of its card, that of its thread, or the newest one.
func (p *play) run(ctx context.Context, trail []*approvals.AuditEntry) (approvals.RunID, error) {
	if p.step.Card != "" {
		r, err := p.request(ctx, p.requests[p.step.Card])
		if err != nil {
			return "", err
		}
		return r.Run, nil
	}
	says := p.step.Mention != "" || p.step.Message != ""
	for _, e := range trail[min(p.entries, len(trail)):] {
		if says && e.Action == approvals.AuditRunSubmitted && p.person(e.Actor) == p.step.By {
			p.thread.run = e.Run
		}
	}
	if p.thread != nil && p.thread.run != "" {
		return p.thread.run, nil
	}
	for _, e := range slices.Backward(trail) {
		if !says && e.Action == approvals.AuditRunSubmitted {
			return e.Run, nil
		}
	}
	return "", nil
}

// auditDiffers looks for the entries in their order.
func (p *play) auditDiffers(trail []*approvals.AuditEntry) *Failure {
	rest := trail
	for _, want := range p.step.Audit {
		i := slices.IndexFunc(rest, func(e *approvals.AuditEntry) bool { return p.isEntry(&want, e) })
		if i < 0 {
			f := Failure{At: want.At, Step: p.name, What: "the audit trail of this step", Expected: entryWanted(&want),
				Got: p.entryList(rest)}
			return &f
		}
		rest = rest[i+1:]
	}
	return nil
}

func (p *play) isEntry(want *testfile.Entry, e *approvals.AuditEntry) bool {
	if string(e.Action) != want.Action || want.By != "" && p.person(e.Actor) != want.By ||
		want.Card != "" && e.Request != p.requests[want.Card] {
		return false
	}
	for name, value := range want.Data {
		if datum(e, name) != value {
			return false
		}
	}
	return true
}

func entryWanted(e *testfile.Entry) string {
	text := e.Action
	if e.By != "" {
		text += " by " + e.By
	}
	if e.Card != "" {
		text += " on " + e.Card
	}
	for _, name := range keys(e.Data) {
		text += " " + name + "=" + e.Data[name]
	}
	return text
}

func (p *play) entryList(trail []*approvals.AuditEntry) string {
	var lines []string
	for _, e := range trail {
		lines = append(lines, p.entryLine(e))
	}
	if lines == nil {
		return "no further entry"
	}
	return strings.Join(lines, "\n")
}

func (p *play) entryLine(e *approvals.AuditEntry) string {
	line := fmt.Sprintf("%s by %s", e.Action, p.person(e.Actor))
	for name, id := range p.requests {
		if id == e.Request && id != "" {
			line += " on " + name
		}
	}
	var data map[string]json.RawMessage
	json.Unmarshal(e.Data, &data) // an entry without data has none to show
	for _, name := range keys(data) {
		if text := datum(e, name); len(text) <= longestDatum {
			line += " " + name + "=" + text
		}
	}
	return line
}

// longestDatum is how long the members of an entry's data are that are listed: digests are longer.
const longestDatum = 32
