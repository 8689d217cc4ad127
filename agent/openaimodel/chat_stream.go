package openaimodel

import (
	"bytes"
	"encoding/json"
	"fmt"

	"countersign/agent"
)

// chunk is one event of a stream.
type chunk struct {
	ID      string          `json:"id"`
	Choices []chunkChoice   `json:"choices"`
	Usage   *chatUsage      `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type chunkChoice struct {
	Index        int         `json:"index"`
	Delta        chatMessage `json:"delta"`
	FinishReason string      `json:"finish_reason"`
}

// maxCalls bounds the calls of one answer: their numbers come from the server.
const maxCalls = 1024

// assembly is an answer that arrives in pieces.
type assembly struct {
	id            string
	text, refusal jsonText
	calls         []*callAssembly
	reason        string
	usage         *chatUsage
}

type callAssembly struct {
	index     int
	id, name  json.RawMessage
	kind      string
	arguments jsonText
}

// consume reads the chunks up to the end mark. The answer is what the chunks say together; a stream without its end
// mark was cut, whatever it says.
func (*chat) consume(s *eventStream, l *listener) (*agent.ModelResponse, error) {
	var a assembly
	for {
		var c chunk
		ok, err := s.next(&c)
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if code, message, failed := readError(c.Error); failed {
			return nil, &ended{status: statusFailed, code: code, message: message}
		}
		if err := a.add(&c, l); err != nil {
			return nil, err
		}
	}
	if !s.marked {
		return nil, errCut
	}
	return a.model()
}

func (a *assembly) add(c *chunk, l *listener) error {
	if c.ID != "" {
		a.id = c.ID
	}
	if c.Usage != nil {
		a.usage = c.Usage
	}
	for i := range c.Choices {
		choice := &c.Choices[i]
		if choice.Index != 0 { // one answer was asked for
			continue
		}
		if choice.FinishReason != "" {
			a.reason = choice.FinishReason
		}
		if err := a.delta(&choice.Delta, l); err != nil {
			return err
		}
	}
	return nil
}

func (a *assembly) delta(d *chatMessage, l *listener) error {
	text, err := d.text()
	if err != nil {
		return err
	}
	for _, piece := range []struct {
		to    *jsonText
		token json.RawMessage
	}{{&a.text, text}, {&a.refusal, d.Refusal}} {
		if isString(piece.token) {
			piece.to.add(piece.token)
			l.text(a.id, piece.token)
		}
	}
	for i := range d.ToolCalls {
		if err := a.call(&d.ToolCalls[i]); err != nil {
			return err
		}
	}
	return nil
}

// call adds a piece of a call. Pieces belong together by their index; but some servers give every call the same one, so
// a piece with a name and an id of its own begins another call.
func (a *assembly) call(d *chatCall) error {
	var c *callAssembly
	for _, other := range a.calls {
		if other.index == d.Index {
			c = other // the newest with that index
		}
	}
	named := isString(d.Function.Name) && len(d.Function.Name) > len(`""`)
	another := c != nil && named && len(c.name) > 0 &&
		len(d.ID) > len(`""`) && isString(d.ID) && !bytes.Equal(d.ID, c.id)
	if c == nil || another {
		if len(a.calls) == maxCalls {
			return fmt.Errorf("%w: more than %d calls in one answer", agent.ErrModelBehavior, maxCalls)
		}
		c = &callAssembly{index: d.Index}
		a.calls = append(a.calls, c)
	}
	if len(c.id) == 0 && isString(d.ID) && len(d.ID) > len(`""`) {
		c.id = d.ID
	}
	if len(c.name) == 0 && named {
		c.name = d.Function.Name
	}
	if d.Type != "" {
		c.kind = d.Type
	}
	if arguments := d.Function.Arguments; len(arguments) > 0 && string(arguments) != "null" {
		if !isString(arguments) {
			return fmt.Errorf("%w: the arguments of a call are not a text", agent.ErrModelBehavior)
		}
		c.arguments.add(arguments)
	}
	return nil
}

// model returns the answer that the pieces make up.
func (a *assembly) model() (*agent.ModelResponse, error) {
	answer := choice{FinishReason: a.reason, Message: chatMessage{Content: a.text.token(), Refusal: a.refusal.token()}}
	for _, c := range a.calls {
		answer.Message.ToolCalls = append(answer.Message.ToolCalls, chatCall{
			ID: c.id, Type: c.kind, Function: chatFunction{Name: c.name, Arguments: c.arguments.token()},
		})
	}
	return (&completion{ID: a.id, Usage: a.usage}).model(&answer)
}
