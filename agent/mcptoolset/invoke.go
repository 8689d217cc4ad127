package mcptoolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"countersign/agent"
	"countersign/agent/internal/oneline"
	"countersign/agent/toolstatus"
)

// effectKey is where a call carries its effect id, so that a server may know a repeated call.
const effectKey = "countersign/effect_id"

// invoke carries out a call of a tool. Its error is the context's, or says that nothing was sent or carried out; and it
// wraps [agent.ErrOutcomeUnknown] where the request was sent and not answered, or answered with no result, and must not
// be repeated.
func (s *Server) invoke(ctx context.Context, l *listed, call *agent.ToolCall) (agent.ToolOutput, error) {
	bounded, cancel := context.WithTimeoutCause(ctx, s.CallTimeout, errCallTimeout)
	defer cancel()
	out, err := s.call(bounded, l, call)
	switch {
	case err == nil: // what the server has answered counts, also when nobody wants it any more
		return out, nil
	case ctx.Err() != nil && errors.Is(err, agent.ErrOutcomeUnknown):
		err = fmt.Errorf("%w: %w", context.Cause(ctx), agent.ErrOutcomeUnknown)
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	return agent.ToolOutput{}, fmt.Errorf("call %s of mcp server %q: %w", oneline.Of(l.name, 200), s.Name(), err)
}

// call makes the request. When the connection turns out to be broken before the server has got it, or no answer comes
// and the tool is idempotent, it is made once more as it was, over a new connection.
func (s *Server) call(ctx context.Context, l *listed, call *agent.ToolCall) (agent.ToolOutput, error) {
	sent := false // by an earlier try: that stays so
	for again := false; ; again = true {
		sess, err := s.ready(ctx, l)
		switch {
		case err != nil && sent:
			return agent.ToolOutput{}, fmt.Errorf(
				"%w: the request was sent, but no answer came, and it was not sent again: %s",
				agent.ErrOutcomeUnknown, s.say(err.Error()))
		case err != nil:
			return agent.ToolOutput{}, fmt.Errorf("nothing was sent: %w", err)
		}
		x := &exchange{call: true}
		res, err := s.send(ctx, sess, x, l, call)
		if answer := x.answer(); answer != nil {
			return s.heard(sent)(s.output(l, answer))
		}
		if err == nil {
			return s.heard(sent)(s.decodedOutput(l, res))
		}
		sent = sent || x.sent.Load()
		if (!sent || s.idempotent(l)) && !again && ctx.Err() == nil && !errors.Is(err, errClosed) {
			sess.broken.Store(true)
			continue
		}
		if sent {
			x.sent.Store(true)
		}
		return agent.ToolOutput{}, s.unanswered(ctx, l, x, err)
	}
}

// heard is what is known of a call that was answered. before: an earlier try was sent, and not answered. That this one
// was refused, or has failed, says nothing about that one then: the server may be at work on it, or take no more calls
// for a while.
func (s *Server) heard(before bool) func(agent.ToolOutput, error) (agent.ToolOutput, error) {
	return func(out agent.ToolOutput, err error) (agent.ToolOutput, error) {
		if err != nil || !before || !out.Failed || out.Status.MayHaveActed() {
			return out, err
		}
		return agent.ToolOutput{}, fmt.Errorf(
			"%w: the request was sent, but no answer came; sent again, it was answered with a failure, which says "+
				"nothing about the first: %s", agent.ErrOutcomeUnknown, s.say(out.Text))
	}
}

// reads and idempotent report what the server says of the tool and the operator believes: that it changes nothing, and
// that it changes something which a second call with the same arguments does not change again.
func (s *Server) reads(l *listed) bool { return s.Trusted && l.annotations.readOnly() }

func (s *Server) idempotent(l *listed) bool {
	return s.Trusted && l.annotations.IdempotentHint.True() && !s.reads(l)
}

// ready returns the connection to make a call on, on which the tool is still what it was when it was listed. The tools
// are listed for it, whatever the server says about telling when they change: the protocol cannot be asked for one of
// them. It also shows that the connection is alive, and calls that wait together share a listing.
func (s *Server) ready(ctx context.Context, l *listed) (*session, error) {
	before := s.listings.Load()
	now, err := s.tools(ctx, func(l *listing) bool { return l.number > before })
	if err != nil {
		return nil, err
	}
	if current := now.byName[l.name]; current == nil {
		return nil, fmt.Errorf("%w: the server has no such tool any more", agent.ErrStale)
	} else if current.definition != l.definition {
		return nil, fmt.Errorf("%w: the server describes the tool differently now", agent.ErrStale)
	}
	return now.session, nil
}

// send makes the request and waits for what comes of it. Close ends the wait.
func (s *Server) send(
	ctx context.Context, sess *session, x *exchange, l *listed, call *agent.ToolCall,
) (*mcp.CallToolResult, error) {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	defer x.end()
	params := &mcp.CallToolParams{Name: l.name, Arguments: call.Arguments}
	if call.EffectID != "" {
		params.Meta = mcp.Meta{effectKey: call.EffectID}
	}
	res, err := sess.client.CallTool(withExchange(ctx, x), params)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return res, err
}

// unanswered says what is known about a call without an answer. A status of HTTP is none: servers are known that carry
// a call out and then answer 400, 401 or 404, for their session had ended meanwhile.
func (s *Server) unanswered(ctx context.Context, l *listed, x *exchange, err error) error {
	problem := s.say(err.Error())
	if context.Cause(ctx) == errCallTimeout {
		problem = fmt.Sprintf("timed out after %s", s.CallTimeout)
	}
	switch {
	case !x.sent.Load():
		return fmt.Errorf("nothing was sent: %s", problem)
	case s.reads(l):
		return fmt.Errorf("the request was sent, but no answer came: %s; it may be sent again", problem)
	}
	if status := x.status.Load(); status >= 300 {
		return fmt.Errorf("%w: the request was sent, and HTTP %d is no answer to it: %s",
			agent.ErrOutcomeUnknown, status, problem)
	}
	return fmt.Errorf("%w: the request was sent, but no answer came: %s", agent.ErrOutcomeUnknown, problem)
}

// output is what the model reads of the server's answer.
func (s *Server) output(l *listed, answer *jsonrpc.Response) (agent.ToolOutput, error) {
	if answer.Error == nil {
		return s.describe(l, answer.Result)
	}
	text, code := answer.Error.Error(), int64(0)
	if e, ok := errors.AsType[*jsonrpc.Error](answer.Error); ok {
		text, code = e.Message, e.Code
	}
	out := agent.ToolOutput{
		Failed: true, Status: toolstatus.Status{RPCError: int(code)},
		Text: fmt.Sprintf("The server answered with error %d: %s", code, oneline.Of(s.hidden.Hide(text), 2000)),
	}
	if out.Status.MayHaveActed() && !s.reads(l) {
		out.Text += toolstatus.TextMayHaveActed
	}
	return out, nil
}

// decodedOutput is for an answer that came on a stream where it does not belong.
func (s *Server) decodedOutput(l *listed, res *mcp.CallToolResult) (agent.ToolOutput, error) {
	data, err := json.Marshal(res)
	if err != nil {
		return agent.ToolOutput{Text: "The call was carried out, but its result cannot be read."}, nil
	}
	return s.describe(l, data)
}
