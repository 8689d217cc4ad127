package testrun

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"countersign/internal/agentsfile"
	"countersign/internal/openaidev"
	"countersign/internal/testfile"
)

// script is the model of a test. What it answers follows from the conversation alone, so that a request that is sent
// again gets the same answer.
type script struct {
	scripts    []testfile.Script
	kinds      map[string]openaidev.CallKind // of tools in the provider's own form
	violations *violations

	mu    sync.Mutex
	used  map[agentsfile.Position]bool
	lines []string // for the transcript
}

func (s *script) rules() openaidev.Script {
	return openaidev.Script{Rules: []openaidev.Rule{{Round: openaidev.AnyRound, Func: s.reply}}}
}

// reply is the model's answer.
func (s *script) reply(t *openaidev.Turn) openaidev.Reply {
	found := s.find(t.User)
	switch {
	case found == nil:
		return s.lost(Failure{What: "what the model is asked", Got: "an answer to " + quote(t.User),
			Expected: "a message that holds one of: " + strings.Join(s.words(), ", ")})
	case t.Round >= len(found.Turns):
		return s.lost(Failure{At: found.At, What: "what the model is asked",
			Expected: fmt.Sprintf("no more than the %d turns of %q", len(found.Turns), found.When),
			Got:      fmt.Sprintf("turn %d, after the outputs %s", t.Round+1, outputs(t))})
	}
	turn := &found.Turns[t.Round]
	s.check(turn, t)
	return s.said(turn, t)
}

// find returns the script for a message: the one with the longest words that the message holds.
func (s *script) find(message string) (found *testfile.Script) {
	for i := range s.scripts {
		c := &s.scripts[i]
		if strings.Contains(message, c.When) && (found == nil || len(c.When) > len(found.When)) {
			found = c
		}
	}
	return found
}

func (s *script) words() (words []string) {
	for _, c := range s.scripts {
		words = append(words, quote(c.When))
	}
	return words
}

// lost is the answer where the test has none.
func (s *script) lost(f Failure) openaidev.Reply {
	s.violations.add(f)
	return openaidev.Reply{Text: "The test has no answer to this."}
}

// check compares what the model is shown with what the turn expects.
func (s *script) check(turn *testfile.Turn, t *openaidev.Turn) {
	for _, want := range turn.Reads {
		holds := func(o openaidev.Output) bool { return strings.Contains(o.Text, want) }
		if !slices.ContainsFunc(t.Newest(), holds) {
			s.violations.add(Failure{At: turn.At, What: "the outputs that the model reads", Expected: quote(want),
				Got: outputs(t)})
		}
	}
	for _, c := range turn.Calls {
		if t.Missing(c.Tool) != "" {
			s.violations.add(Failure{At: c.At, What: "the tools that the model is offered", Expected: c.Tool,
				Got: strings.Join(t.Tools, ", ")})
		}
	}
}

// said notes the turn, and is what the model says in it.
func (s *script) said(turn *testfile.Turn, t *openaidev.Turn) openaidev.Reply {
	r := openaidev.Reply{Text: turn.Says}
	var line []string
	if turn.Says != "" {
		line = append(line, "says "+quote(turn.Says))
	}
	for _, c := range turn.Calls {
		args := "{}"
		if c.Args != nil {
			args = string(c.Args)
		}
		r.Calls = append(r.Calls, openaidev.Call{Kind: s.kinds[c.Tool], Name: c.Tool, Arguments: args})
		line = append(line, "calls "+c.Tool+" "+args)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.used[turn.At] {
		s.used[turn.At] = true
		if t.Round > 0 {
			s.lines = append(s.lines, "reads "+outputs(t))
		}
		s.lines = append(s.lines, strings.Join(line, "; "))
	}
	return r
}

// unused are turns that the model was never asked for.
func (s *script) unused() (failures []Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.scripts {
		for i, turn := range c.Turns {
			if !s.used[turn.At] {
				failures = append(failures, Failure{At: turn.At, What: "the model",
					Expected: fmt.Sprintf("to be asked for turn %d of %q", i+1, c.When), Got: "it never was"})
				break
			}
		}
	}
	return failures
}

func (s *script) transcript() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lines)
}

// outputs are those of the newest round, in short.
func outputs(t *openaidev.Turn) string {
	var texts []string
	for _, o := range t.Newest() {
		texts = append(texts, o.Name+": "+quote(o.Text))
	}
	if texts == nil {
		return "none"
	}
	return strings.Join(texts, ", ")
}

func quote(s string) string { return fmt.Sprintf("%q", cut(s, 300)) }

// cut shortens a text.
func cut(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
