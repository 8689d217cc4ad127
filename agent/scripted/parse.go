package scripted

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"countersign/agent"
)

// Parse reads the steps of a script in their text form; see the package comment.
func Parse(steps ...string) (*Model, error) {
	parsed := make([]Step, len(steps))
	for i, text := range steps {
		step, err := parseStep(text)
		if err != nil {
			return nil, fmt.Errorf("scripted: step %d: %w", i+1, err)
		}
		parsed[i] = step
	}
	return New(parsed...), nil
}

func parseStep(text string) (Step, error) {
	var p stepParser
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" || line[0] == '#' {
			continue
		}
		verb, rest, _ := strings.Cut(line, " ")
		if err := p.line(verb, rest); err != nil {
			return Step{}, fmt.Errorf("line %q: %w", line, err)
		}
	}
	p.step.Check = p.check()
	return p.step, nil
}

type stepParser struct {
	step    Step
	saying  bool // the line before was part of the same message
	expects []func(*agent.ModelRequest) error
}

func (p *stepParser) line(verb, rest string) error {
	saying := p.saying
	p.saying = verb == "say"
	switch verb {
	case "say":
		if last := len(p.step.Items) - 1; saying {
			p.step.Items[last].Text += "\n" + rest
			return nil
		}
		p.add(agent.AssistantMessage(rest))
	case "reasoning":
		p.add(agent.Item{Type: agent.ItemReasoning, Text: rest})
	case "call":
		return p.call(rest)
	case "raw":
		it, err := rawItem(rest)
		p.add(it)
		return err
	case "usage":
		return p.usage(rest)
	case "fail":
		p.step.Err = errors.New(rest)
	case "expect":
		p.expects = append(p.expects, expect(rest))
	default:
		return errors.New("unknown verb; known are say, reasoning, call, raw, usage, fail, expect")
	}
	return nil
}

func (p *stepParser) add(it agent.Item) { p.step.Items = append(p.step.Items, it) }

// call reads ID TOOL ARGS. An id written as "" is empty, for scripts about providers that misbehave.
func (p *stepParser) call(rest string) error {
	id, rest, ok := strings.Cut(rest, " ")
	tool, arguments, _ := strings.Cut(rest, " ")
	if !ok || tool == "" {
		return errors.New("want: call ID TOOL ARGUMENTS")
	}
	if id == `""` {
		id = ""
	}
	p.add(Call(id, tool, arguments))
	return nil
}

func (p *stepParser) usage(rest string) error {
	in, out, _ := strings.Cut(rest, " ")
	input, err1 := strconv.ParseInt(in, 10, 64)
	output, err2 := strconv.ParseInt(out, 10, 64)
	p.step.Usage = agent.Usage{InputTokens: input, OutputTokens: output, TotalTokens: input + output}
	return errors.Join(err1, err2)
}

func (p *stepParser) check() func(*agent.ModelRequest) error {
	if len(p.expects) == 0 {
		return nil
	}
	return func(req *agent.ModelRequest) error {
		for _, check := range p.expects {
			if err := check(req); err != nil {
				return err
			}
		}
		return nil
	}
}
