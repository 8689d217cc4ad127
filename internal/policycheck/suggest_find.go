package policycheck

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/agentsfile"
)

// Suggestion is what could be written into the agents file instead of asking people.
type Suggestion struct {
	Kind  string `json:"kind"` // threshold or grant
	Agent string `json:"agent"`
	Tool  string `json:"tool"`
	// Condition is true for the calls that would not be asked about any more.
	Condition string `json:"condition"`
	Gate      string `json:"gate"` // what needs_approval of the tool would be
	Spares    int    `json:"spares"`
	Counts    Counts `json:"counts"` // of all calls of the tool
	// Days are those on which the calls were made, First and Last when the first and the last were.
	Days  int       `json:"days"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	// ApprovedBy counts who approved them.
	ApprovedBy map[string]int `json:"approved_by"`
	// Unbound are the arguments that the condition leaves free, with how many values they had: none, where no call had
	// the argument.
	Unbound map[string]int `json:"unbound,omitempty"`
	// Open says that calls with arguments that the tool's parameters do not name are such calls too: a call may have
	// some, and no expression speaks of them.
	Open bool `json:"open,omitempty"`
	// RejectedAtMost is RejectionBound for the calls.
	RejectedAtMost float64               `json:"rejected_at_most"`
	Requests       []approvals.RequestID `json:"requests"`
}

// The kinds of suggestions.
const (
	Threshold = "threshold" // calls up to a number
	GrantLike = "grant"     // calls with a value that were always approved
)

// look returns what is suggested for a tool, or why nothing is.
func (s *Suggestions) look(e *evidence) (found []Suggestion, why string) {
	tool, why := s.eligible(e)
	if why != "" {
		return nil, why
	}
	w := &writer{evidence: e, gate: s.gateOf(e)}
	w.schema, w.named, w.open = propertiesOf(tool.Parameters)
	found = append(w.thresholds(), w.grants()...)
	if len(found) == 0 {
		return nil, "no argument has a number, or a value that comes back, with enough approvals behind it"
	}
	return found, ""
}

// eligible returns the tool if there may be suggestions for it, or why not.
func (s *Suggestions) eligible(e *evidence) (*agent.Tool, string) {
	c := &e.counts
	cfg, err := s.catalog.Agent(e.agent)
	if err != nil {
		return nil, "the agents file has no such agent any more"
	}
	tool := find(cfg.Agent, &e.tool)
	switch {
	case c.Rejected > 0:
		return nil, fmt.Sprintf("%d of %d calls were rejected by somebody", c.Rejected, c.Asked)
	case c.Edited > 0:
		return nil, fmt.Sprintf("people changed the arguments of %d of %d calls", c.Edited, c.Asked)
	case e.risky:
		return nil, "its risk is high"
	case e.several:
		return nil, "more than one person must agree, which somebody has decided for a reason"
	case e.tool.Kind == agent.KindMCP || e.tool.Kind == agent.KindHostedMCP:
		return nil, "it is a tool of an MCP server; its require_approval says when it asks"
	case tool == nil:
		return nil, "the agents file has no such tool any more"
	case e.other || tool.External:
		return nil, "people are asked for more than a yes or no"
	case tool.NeedsApproval == nil || tool.Audit:
		return nil, "people are not asked about it any more"
	case len(e.samples) < MinRequests || days(e.samples) < MinDays:
		return nil, fmt.Sprintf("people approved %d calls on %d days; a suggestion needs %d on %d days",
			c.Approved, days(e.samples), MinRequests, MinDays)
	}
	return tool, ""
}

// gateOf is the expression that the tool's needs_approval is now; empty: every call asks.
func (s *Suggestions) gateOf(e *evidence) string {
	for _, t := range s.catalog.File.Agent(e.agent).Tools {
		if t.Name == e.tool.Name && t.Gate.Ask == agentsfile.AskIf {
			return strings.Join(strings.Fields(t.Gate.Expression), " ")
		}
	}
	return ""
}

func days(samples []sample) int {
	seen := make(map[string]bool)
	for i := range samples {
		seen[samples[i].at.UTC().Format(time.DateOnly)] = true
	}
	return len(seen)
}

// property is what a schema says of an argument.
type property struct {
	Type    propertyType `json:"type"`
	Minimum *float64     `json:"minimum"`
	Above   *float64     `json:"exclusiveMinimum"`
}

// propertyType is the type of an argument; null beside it does not count, and of several others it is empty.
type propertyType string

// UnmarshalJSON reads a type or a list of them.
func (t *propertyType) UnmarshalJSON(data []byte) error {
	var one string
	var several []string
	if json.Unmarshal(data, &one) != nil && json.Unmarshal(data, &several) != nil {
		return nil // no type
	}
	several = slices.DeleteFunc(several, func(s string) bool { return s == "null" })
	if len(several) == 1 {
		one = several[0]
	}
	*t = propertyType(one)
	return nil
}

// atLeast reports whether the schema itself keeps the number from being below the bound.
func (p property) atLeast(bound float64) bool {
	return p.Minimum != nil && *p.Minimum >= bound || p.Above != nil && *p.Above >= bound
}

func (p property) isNumber() bool { return p.Type == "number" || p.Type == "integer" }

// propertiesOf returns the properties of a schema that expressions can name, the names of all of them, and whether a
// call may have others.
func propertiesOf(parameters json.RawMessage) (nameables map[string]property, named []string, open bool) {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Additional json.RawMessage            `json:"additionalProperties"`
	}
	_ = json.Unmarshal(parameters, &s) // a schema that cannot be read has no properties to suggest anything about
	nameables = make(map[string]property)
	for name, raw := range s.Properties {
		named = append(named, name)
		if !nameable(name) {
			continue
		}
		var p property
		if json.Unmarshal(raw, &p) != nil {
			p = property{} // a schema that lets everything through, for instance
		}
		nameables[name] = p
	}
	return nameables, named, string(s.Additional) != "false"
}

// writer writes the suggestions for one tool.
type writer struct {
	*evidence
	schema map[string]property // of the arguments that expressions can name
	named  []string            // all arguments of the schema
	open   bool                // a call may have others
	gate   string
}

// mostSpared is the share of the calls that a threshold lets pass at most: the largest tenth goes on being asked about,
// so that no single large call decides where the threshold is.
const mostSpared = 0.9

// thresholds suggests, for each argument that is always a number, to ask only about calls above it.
func (w *writer) thresholds() (found []Suggestion) {
	for _, name := range slices.Sorted(maps.Keys(w.schema)) {
		p := w.schema[name]
		if !p.isNumber() {
			continue
		}
		values, ok := w.numbers(name)
		if !ok {
			continue
		}
		limit := values[int(math.Ceil(mostSpared*float64(len(values))))-1]
		lowest := values[0]
		if limit == lowest || limit == values[len(values)-1] {
			continue // nothing is left below it, or above it
		}
		condition := fmt.Sprintf("args.%s <= %s", name, number(limit))
		gate := fmt.Sprintf("args.%s > %s", name, number(limit))
		if bound := math.Min(lowest, 0); !p.atLeast(bound) { // what nobody has seen is asked about
			least := number(bound)
			condition = fmt.Sprintf("args.%s >= %s && %s", name, least, condition)
			gate = fmt.Sprintf("%s || args.%s < %s", gate, name, least)
		}
		spared := slices.DeleteFunc(slices.Clone(w.samples), func(s sample) bool { return s.args[name].number > limit })
		if len(spared) >= MinRequests && days(spared) >= MinDays {
			found = append(found, w.suggestion(Threshold, condition, gate, spared, []string{name}))
		}
	}
	return found
}

// numbers returns the values of the argument in order, if every call has a number there.
func (w *writer) numbers(name string) (values []float64, ok bool) {
	for i := range w.samples {
		v := w.samples[i].args[name]
		if !v.isNum {
			return nil, false
		}
		values = append(values, v.number)
	}
	sort.Float64s(values)
	return values, len(values) > 0
}

// grants suggests, for each value that comes back often enough, not to ask about calls that are like those with it.
func (w *writer) grants() (found []Suggestion) {
	seen := make(map[string]bool)
	for _, name := range slices.Sorted(maps.Keys(w.schema)) {
		if w.schema[name].isNumber() {
			continue // a number that comes back is a threshold's matter
		}
		byValue := make(map[string][]sample)
		for _, s := range w.samples {
			if v := s.args[name].text; v != "" {
				byValue[v] = append(byValue[v], s)
			}
		}
		for _, value := range slices.Sorted(maps.Keys(byValue)) {
			same := byValue[value]
			if len(same) < MinRequests || days(same) < MinDays {
				continue
			}
			condition, bound := w.likeness(same)
			if !seen[condition] {
				seen[condition] = true
				found = append(found, w.suggestion(GrantLike, condition, "!("+condition+")", same, bound))
			}
		}
	}
	return found
}

// likeness is the narrowest condition that all of the calls fulfil, and the arguments that it binds: what had one value
// must have it, numbers stay between the smallest and the largest, and what no call had must be absent.
func (w *writer) likeness(calls []sample) (condition string, bound []string) {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(w.schema)) {
		if part := likenessOf(name, calls); part != "" {
			parts, bound = append(parts, part), append(bound, name)
		}
	}
	return strings.Join(parts, " && "), bound
}

// likenessOf is what the calls have in common in one argument; empty: nothing that can be written.
func likenessOf(name string, calls []sample) string {
	values := make(map[string]bool)
	present, numbers := 0, 0
	least, most := math.Inf(1), math.Inf(-1)
	for i := range calls {
		v, ok := calls[i].args[name]
		if !ok {
			continue
		}
		present++
		values[v.text] = true
		if v.isNum {
			numbers++
			least, most = math.Min(least, v.number), math.Max(most, v.number)
		}
	}
	switch {
	case present == 0:
		return fmt.Sprintf("!has(args.%s)", name)
	case present < len(calls) || values[""]:
		return ""
	case numbers == len(calls): // equality would need numbers of one type
		return fmt.Sprintf("args.%s >= %s && args.%s <= %s", name, number(least), name, number(most))
	case len(values) == 1:
		return fmt.Sprintf("args.%s == %s", name, slices.Collect(maps.Keys(values))[0])
	}
	return ""
}

// suggestion writes one down. calls are those that would not be asked about any more.
func (w *writer) suggestion(kind, condition, gate string, calls []sample, bound []string) Suggestion {
	s := Suggestion{
		Kind: kind, Agent: w.agent, Tool: w.tool.Name, Condition: condition, Gate: gate,
		Spares: len(calls), Counts: w.counts, Days: days(calls), First: calls[0].at, Last: calls[0].at,
		ApprovedBy: make(map[string]int), Unbound: make(map[string]int), RejectedAtMost: RejectionBound(len(calls)),
		Open: w.open,
	}
	for _, name := range w.named {
		if !slices.Contains(bound, name) {
			s.Unbound[name] = 0
		}
	}
	if w.gate != "" {
		s.Gate = "(" + w.gate + ") && (" + gate + ")"
	}
	s.rest(calls, bound)
	return s
}

// rest says what the calls were, and what the bound arguments leave free.
func (s *Suggestion) rest(calls []sample, bound []string) {
	values := make(map[string]map[string]bool)
	for i := range calls {
		c := &calls[i]
		s.Requests = append(s.Requests, c.id)
		for _, by := range c.by {
			s.ApprovedBy[by]++
		}
		if c.at.Before(s.First) {
			s.First = c.at
		}
		if c.at.After(s.Last) {
			s.Last = c.at
		}
		for name, v := range c.args {
			if slices.Contains(bound, name) {
				continue
			}
			if values[name] == nil {
				values[name] = make(map[string]bool)
			}
			values[name][v.text] = true
		}
	}
	for name, all := range values {
		s.Unbound[name] = len(all)
	}
}
