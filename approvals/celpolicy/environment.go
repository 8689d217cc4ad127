package celpolicy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"

	"countersign/approvals"
)

// Vars are the values that every expression of an agents file may read as vars.NAME: each a string, an int64, a
// float64 or a bool.
type Vars map[string]any

// The words that expressions may use.
const (
	wordArgs      = "args"
	wordText      = "text" // of guardrails
	wordTool      = "tool"
	wordAgent     = "agent"
	wordCallID    = "call_id"
	wordRequester = "requester"
	wordChannel   = "channel"
	wordVars      = "vars"
)

// listed are words as messages list them.
func listed(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// objectWords are those that hold fields and nothing else, with the fields in the order in which messages list them.
var objectWords = map[string][]string{
	wordRequester: {"id", "name", "groups"},
	wordChannel:   {"id", "direct", "name", "private", "shared"},
	wordVars:      nil,
}

// factOf has the fields of requester and channel that the directory is asked for, and what it is asked.
var factOf = map[[2]string]approvals.Fact{
	{wordRequester, "name"}:   approvals.FactRequesterName,
	{wordRequester, "groups"}: approvals.FactRequesterGroups,
	{wordChannel, "name"}:     approvals.FactChannel,
	{wordChannel, "private"}:  approvals.FactChannel,
	{wordChannel, "shared"}:   approvals.FactChannel,
}

// environment is where an expression is checked: the words that it may use, and their types.
type environment struct {
	env   *cel.Env
	words []string
	args  *shape
	vars  Vars
}

// newEnvironment declares the words of gates and policies. Arguments without a schema are not typed.
func newEnvironment(parameters json.RawMessage, vars Vars) (*environment, error) {
	shapes, err := newShapes(parameters)
	if err != nil {
		return nil, fmt.Errorf("schema of the arguments: %w", err)
	}
	text, truth := &shape{typ: cel.StringType}, &shape{typ: cel.BoolType}
	texts := &shape{typ: cel.ListType(cel.StringType), items: text}
	requester := shapes.declare(wordRequester, map[string]*shape{"id": text, "name": text, "groups": texts})
	channel := shapes.declare(wordChannel, map[string]*shape{
		"id": text, "direct": truth, "name": text, "private": truth, "shared": truth,
	})
	return shapes.environment(vars, []word{
		{wordArgs, shapes.root.typ}, {wordTool, cel.StringType}, {wordAgent, cel.StringType},
		{wordRequester, requester}, {wordChannel, channel}, {wordCallID, cel.StringType},
	})
}

// word is a variable of expressions.
type word struct {
	name string
	typ  *cel.Type
}

// environment declares the words, and vars behind them.
func (s *shapes) environment(vars Vars, words []word) (*environment, error) {
	values, err := varShapes(vars)
	if err != nil {
		return nil, err
	}
	e := &environment{args: s.root, vars: vars}
	options := []cel.EnvOption{
		cel.CustomTypeProvider(s), cel.CrossTypeNumericComparisons(true), cel.EnableMacroCallTracking(),
	}
	for _, w := range append(words, word{wordVars, s.declare(wordVars, values)}) {
		e.words = append(e.words, w.name)
		options = append(options, cel.Variable(w.name, w.typ))
	}
	if e.env, err = cel.NewEnv(options...); err != nil {
		return nil, fmt.Errorf("expression environment: %w", err)
	}
	return e, nil
}

func varShapes(vars Vars) (map[string]*shape, error) {
	fields := make(map[string]*shape)
	for name, v := range vars {
		switch v.(type) {
		case string:
			fields[name] = &shape{typ: cel.StringType}
		case int64:
			fields[name] = &shape{typ: cel.IntType}
		case float64:
			fields[name] = &shape{typ: cel.DoubleType}
		case bool:
			fields[name] = &shape{typ: cel.BoolType}
		default:
			return nil, fmt.Errorf("vars.%s is a %T: %w", name, v, approvals.ErrInvalid)
		}
	}
	return fields, nil
}

// declare makes a type of an object that is no part of the arguments. No expression can name it.
func (s *shapes) declare(word string, fields map[string]*shape) *cel.Type {
	name := "{" + word + "}"
	o := &shape{typ: cel.ObjectType(name), fields: fields}
	s.objects[name] = o
	return o.typ
}

// subject is the call that an expression is evaluated for. An expression that needs what is missing fails.
type subject struct {
	args                any // nil: missing
	tool, agent, callID string
	requester           approvals.UserID // with place; empty: both are missing
	place               approvals.Place
	known               approvals.PolicyFacts
}

// values are the subject as expressions see it. Facts that are not known are missing.
func (s *subject) values(vars Vars) map[string]any {
	values := map[string]any{
		wordTool: s.tool, wordAgent: s.agent, wordCallID: s.callID, wordVars: map[string]any(vars),
	}
	if s.args != nil {
		values[wordArgs] = s.args
	}
	if s.requester != "" {
		requester := map[string]any{"id": s.requester.Local()}
		channel := map[string]any{"id": s.place.Channel, "direct": s.place.Direct}
		if s.known.Knows(approvals.FactRequesterName) {
			requester["name"] = s.known.RequesterName
		}
		if s.known.Knows(approvals.FactRequesterGroups) {
			requester["groups"] = s.known.RequesterGroups
		}
		if s.known.Knows(approvals.FactChannel) {
			c := s.known.Channel
			channel["name"], channel["private"], channel["shared"] = c.Name, c.Private, c.Shared
		}
		values[wordRequester], values[wordChannel] = requester, channel
	}
	return values
}

// missingField says that an object has no such field.
func (e *environment) missingField(word, field string) string {
	known, isObject := objectWords[word]
	switch {
	case word == wordVars && len(e.vars) == 0:
		return fmt.Sprintf("the file has no vars, so there is no vars.%s", field)
	case word == wordVars:
		return fmt.Sprintf("vars has no '%s'; it has %s", field, strings.Join(e.varNames(), ", "))
	case isObject:
		return fmt.Sprintf("%s has no '%s'; it has %s", word, field, listed(known))
	case word == wordArgs:
		return fmt.Sprintf("the tool's parameters have no '%s'", field)
	}
	return fmt.Sprintf("there is no '%s' here", field)
}

func (e *environment) varNames() []string { return slices.Sorted(maps.Keys(e.vars)) }
