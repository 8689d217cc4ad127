package approvals

import (
	"context"
	"sync"

	"countersign/agent"
)

// telling is what an execution tells a sink. Calls of a turn run side by side, so it takes one at a time.
type telling struct {
	feed *Feed // nil: nobody wants to know; set before anything runs

	mu     sync.Mutex
	closed bool
}

// follow asks the sink whether it wants to follow the execution. A sink that panics does not.
func (x *execution) follow() {
	if x.follower == nil {
		return
	}
	defer func() {
		if recover() != nil {
			x.log.Error("a follower panicked", "run", x.run.ID)
		}
	}()
	silent := guarded(x.config.Agent, map[*agent.Agent]bool{})
	f := newFeed(silent)
	wanted := x.follower.Follow(FollowedRun{
		Workspace: x.run.Workspace, Run: x.run.ID, Place: x.run.Place, Requester: x.run.Requester,
		Epoch: x.run.Epoch, Resumed: x.run.StateItems > 0, Silent: silent,
	}, f)
	if wanted {
		x.progress.feed = f
	}
}

// followed reports whether somebody wants to know.
func (t *telling) followed() bool { return t.feed != nil }

func (t *telling) tell(p RunUpdate) {
	if t.feed == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.feed.send(p)
	}
}

func (t *telling) over(end FollowEnd) {
	if t.feed == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	t.feed.over(end)
}

// call tells how a call stands.
func (t *telling) call(c *agent.ToolCall, interruption string, state CallState) {
	if t.feed != nil {
		t.tell(RunUpdate{Kind: UpdateCall, Call: interruption, Tool: c.Tool, Path: c.Path, State: state})
	}
}

// start runs the agent with the input, and resume goes on with the state. Both tell on the way what the agent writes.
func (x *execution) start(ctx context.Context, input []agent.Item) (*agent.Result, error) {
	if !x.progress.followed() {
		return x.runner.Run(ctx, x.config.Agent, input, x.options)
	}
	return x.watch(x.runner.Stream(ctx, x.config.Agent, input, x.options))
}

func (x *execution) resume(ctx context.Context) (*agent.Result, error) {
	if !x.progress.followed() {
		return x.runner.Resume(ctx, x.config.Agent, x.state, x.options)
	}
	return x.watch(x.runner.StreamResume(ctx, x.config.Agent, x.state, x.options))
}

// watch plays the stream. Of agents within others only the calls are told: what they write is no answer.
func (x *execution) watch(s *agent.Stream) (*agent.Result, error) {
	for e := range s.Events() {
		if text, ok := e.(agent.ModelText); ok && len(text.Path) <= 1 && text.Text != "" {
			x.progress.tell(RunUpdate{Kind: UpdateText, Item: text.ItemID, Text: text.Text})
		}
	}
	return s.Result()
}

// tellAnswered tells what people's answers have made of the calls that they were asked about.
func (x *execution) tellAnswered(r *Request) {
	state := CallNotRun
	switch r.Status {
	case RequestApproved:
		state = CallPending
	case RequestStale:
		return
	}
	x.progress.tell(RunUpdate{
		Kind: UpdateCall, Call: r.Interruption, Tool: r.Tool.Name, Path: r.Path, State: state,
	})
}

// tellAsked tells for which calls people are asked now, once that is recorded.
func (x *execution) tellAsked(open []agent.Interruption) {
	for i := range open {
		x.progress.call(&open[i].Call, open[i].ID, CallWaiting)
	}
}

// streamFunc is a model that is also asked for streams.
type streamFunc struct {
	modelFunc
	stream func(context.Context, *agent.ModelRequest, func(agent.ModelDelta) bool) (*agent.ModelResponse, error)
}

// RespondStream calls f.stream.
func (f streamFunc) RespondStream(
	ctx context.Context, req *agent.ModelRequest, emit func(agent.ModelDelta) bool,
) (*agent.ModelResponse, error) {
	return f.stream(ctx, req, emit)
}
