package bot

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"countersign/agent"
	"countersign/agent/scripted"
)

// TestStopShowsNoCallAsRunning: the process is told to stop while a tool works. What showed the run says that the call
// was cut off, and not for ever that it is running.
func TestStopShowsNoCallAsRunning(t *testing.T) {
	t.Parallel()
	tool := agent.Tool{
		Name: "look", Description: "Looks.", Parameters: json.RawMessage(`{"type":"object"}`),
		Validate: func(json.RawMessage) error { return nil },
		Invoke: func(ctx context.Context, _ *agent.ToolCall) (agent.ToolOutput, error) {
			<-ctx.Done()
			return agent.ToolOutput{}, ctx.Err()
		},
	}
	w := startWorld(t, &world{
		policy: everybody{}, tools: []agent.Tool{tool}, tune: streamsSoon, drain: time.Millisecond,
		script: script{scripted.Calls(scripted.Call("call_1", "look", `{}`)), scripted.Say("Seen.")},
	})
	thread := w.mention("U0ANN", "look", "")
	shown := w.streamed(thread, "running")
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	shown, _ = w.slack.Message(shown.Channel, shown.TS)
	said := shown.Shown()
	if shown.Streaming() == "in_progress" || !strings.Contains(said, wordsStreamUnfinished) {
		t.Fatalf("it goes on: %s, %q", shown.Streaming(), said)
	}
	if !strings.Contains(said, wordsCutOff) || strings.Contains(said, "\nrunning") {
		t.Errorf("nothing works on the call any more, and it says %q", said)
	}
}
