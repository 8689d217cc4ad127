package bot

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/agent/guardrail"
	"countersign/agent/scripted"
	"countersign/approvals"
	"countersign/internal/slackdev"
)

// typist is a model that plays a script and writes its texts piece by piece, each when it is let.
type typist struct {
	agent.Model
	pieces chan string // closed: the rest comes with the answer
	fails  bool        // it writes, and comes to no answer
}

func newTypist(steps ...scripted.Step) *typist {
	return &typist{Model: scripted.New(steps...), pieces: make(chan string)}
}

// RespondStream implements agent.StreamModel. An empty piece ends the answer.
func (m *typist) RespondStream(
	ctx context.Context, req *agent.ModelRequest, emit func(agent.ModelDelta) bool,
) (*agent.ModelResponse, error) {
	resp, failure := m.Model.Respond(ctx, req)
	if failure != nil && !m.fails {
		return nil, failure
	}
	item := "failing"
	if failure == nil {
		item = resp.Items[0].ID
	}
	for {
		select {
		case piece, ok := <-m.pieces:
			if !ok || piece == "" {
				return resp, failure
			}
			emit(agent.ModelDelta{ItemID: item, Text: piece})
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// streamed waits for a message in the thread that is streamed and shows the words.
func (w *world) streamed(thread, words string) (found slackdev.Message) {
	w.t.Helper()
	w.eventually("a stream with "+words, func() bool {
		for _, m := range w.slack.Thread("C0GENERAL", thread) {
			if m.Streaming() != "" && strings.Contains(m.Shown(), words) {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

// answered lists the bot's messages of the thread that are answers, once there is one and nothing is streamed.
func (w *world) answered(thread string) (all []slackdev.Message) {
	w.t.Helper()
	w.eventually("an answer", func() bool {
		all = nil
		for _, m := range w.slack.Thread("C0GENERAL", thread) {
			if m.Streaming() == "in_progress" {
				return false
			}
			if m.Metadata != nil && m.Metadata.EventType == answerEvent {
				all = append(all, m)
			}
		}
		return len(all) > 0
	})
	return all
}

// half lists the bot's messages of the thread that could be taken for an answer and are none: no metadata says what
// they are, and no words at their end.
func (w *world) half(thread string) (all []string) {
	for _, m := range w.slack.Thread("C0GENERAL", thread) {
		if m.User != "U0BOT" || m.Metadata != nil {
			continue
		}
		if s := m.Shown(); !strings.Contains(s, "People were asked") && !strings.Contains(s, wordsStreamUnfinished) {
			all = append(all, s)
		}
	}
	return all
}

func streamsSoon(b *Bot) { b.streams.after, b.streams.every = time.Millisecond, time.Millisecond }

// TestAnswerIsStreamed: what the model writes is seen while it writes, as text and never as markup, and the message
// becomes exactly the answer that would have been posted.
func TestAnswerIsStreamed(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"C0GENERAL", "D0ANN"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			const text = "One <!channel> **b** [x](https://evil.example)\nTwo\u202e.\nThree."
			model := newTypist(scripted.Say(text))
			w := startWorld(t, &world{policy: everybody{}, model: model, tune: streamsSoon})
			said := "<@U0BOT> tell me"
			thread, err := w.slack.Post(w.ctx(), "U0ANN", where, said, "")
			if err != nil {
				t.Fatal(err)
			}
			shown := func(words string) (found slackdev.Message) {
				w.eventually("a stream with "+words, func() bool {
					for _, m := range w.slack.Thread(where, thread) {
						if m.Streaming() != "" && strings.Contains(m.Shown(), words) {
							found = m
							return true
						}
					}
					return false
				})
				return found
			}
			model.pieces <- text[:len("One <!channel> **b** [x](https://evil.example)\nTw")]
			first := shown("One <!channel> **b** [x](https://evil.example)")
			model.pieces <- text[len("One <!channel> **b** [x](https://evil.example)\nTw") : len(text)-2]
			second := shown(`Two\u{202E}.`)
			if second.TS != first.TS || second.Streaming() != "in_progress" {
				t.Errorf("%s and %s, %s", first.TS, second.TS, second.Streaming())
			}
			for _, kind := range []string{`"markdown"`, `"mrkdwn"`, `"link"`, `"broadcast"`} {
				if strings.Contains(string(second.Blocks), kind) {
					t.Errorf("a stream holds %s: %s", kind, second.Blocks)
				}
			}
			close(model.pieces)
			w.eventually("the answer", func() bool {
				m, _ := w.slack.Message(where, first.TS)
				return m.Metadata != nil && m.Metadata.EventType == answerEvent
			})
			m, _ := w.slack.Message(where, first.TS)
			n := &approvals.Notification{Text: text, ID: approvals.NotificationID(
				m.Metadata.EventPayload["notification"].(string))}
			want, err := json.Marshal(textPosts(n, answerEvent, wordsEmptyAnswer)[0].blocks)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(parsed(t, want), parsed(t, m.Blocks)); diff != "" {
				t.Errorf("the answer is not what is posted otherwise (-posted +streamed):\n%s", diff)
			}
			if own := w.own(where, thread); len(own) != 1 {
				t.Errorf("%d messages", len(own))
			}
		})
	}
}

// own lists the bot's messages of a thread.
func (w *world) own(channel, thread string) (all []slackdev.Message) {
	for _, m := range w.slack.Thread(channel, thread) {
		if m.User == "U0BOT" {
			all = append(all, m)
		}
	}
	return all
}

func parsed(t *testing.T, raw json.RawMessage) (v any) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestStreamEndsWhereTheRunPauses: the message says that people are asked, and about what; the answer comes below.
func TestStreamEndsWhereTheRunPauses(t *testing.T) {
	t.Parallel()
	asks := pay("call_1")
	asks.Items = append([]agent.Item{agent.AssistantMessage("I will pay.")}, asks.Items...)
	model := newTypist(asks, scripted.Say("Paid."))
	w := startWorld(t, &world{policy: everybody{}, model: model, tune: streamsSoon})
	thread := w.mention("U0ANN", "pay acme", "")
	model.pieces <- "I will pay.\n"
	w.streamed(thread, "I will pay.")
	model.pieces <- ""
	card := w.card(thread, 1)
	paused := w.streamed(thread, "People were asked about transfer_funds")
	if !strings.Contains(string(paused.Blocks), "people were asked") || paused.Streaming() != "completed" {
		t.Errorf("%s: %s", paused.Streaming(), paused.Blocks)
	}
	if err := w.click("U0BEN", card, "approve"); err != nil {
		t.Fatal(err)
	}
	ran := w.streamed(thread, "transfer_funds\nran")
	if ran.TS == paused.TS || ran.TS < card.TS {
		t.Errorf("the run goes on at %s, card %s, paused %s", ran.TS, card.TS, paused.TS)
	}
	close(model.pieces)
	if all := w.answered(thread); len(all) != 1 || all[0].TS != ran.TS || all[0].Shown() != "Paid." {
		t.Errorf("answers %v", all)
	}
	if left := w.half(thread); left != nil {
		t.Errorf("left: %q", left)
	}
}

// gate is a tool that runs until it is let go on.
func gate(open chan struct{}) agent.Tool {
	return agent.Tool{
		Name: "look", Description: "Looks.", Parameters: json.RawMessage(`{"type":"object"}`),
		Validate: func(json.RawMessage) error { return nil },
		Invoke: func(ctx context.Context, _ *agent.ToolCall) (agent.ToolOutput, error) {
			select {
			case <-open:
				return agent.ToolOutput{Text: "seen"}, nil
			case <-ctx.Done():
				return agent.ToolOutput{}, ctx.Err()
			}
		},
	}
}

// TestWhatAGuardrailMayRefuseIsNotStreamed: calls are shown while they run, words are not. Without the guardrail the
// same words are.
func TestWhatAGuardrailMayRefuseIsNotStreamed(t *testing.T) {
	t.Parallel()
	for name, guard := range map[string][]agent.OutputGuardrail{
		"with": {{Name: "no", Check: func(context.Context, *agent.Agent, string) (guardrail.Verdict, error) {
			return guardrail.Verdict{Action: guardrail.Trip, Message: "not that"}, nil
		}}},
		"without": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asks := scripted.Calls(agent.AssistantMessage("Forbidden."), scripted.Call("call_1", "look", `{}`))
			model, open := newTypist(asks, scripted.Say("Forbidden.")), make(chan struct{})
			w := startWorld(t, &world{
				policy: everybody{}, model: model, tune: streamsSoon, tools: []agent.Tool{gate(open)},
				shape: func(a *agent.Agent) { a.OutputGuardrails = guard },
			})
			thread := w.mention("U0ANN", "tell me", "")
			model.pieces <- "Forbidden.\n"
			model.pieces <- ""
			w.streamed(thread, "look")
			if guard == nil {
				w.streamed(thread, "Forbidden.")
			}
			close(open)
			w.streamed(thread, "look\nran")
			close(model.pieces)
			if guard == nil {
				w.answered(thread)
				return
			}
			w.streamed(thread, wordsStreamUnfinished)
			for _, c := range w.slack.Calls() {
				if raw, _ := json.Marshal(c.Args); strings.Contains(string(raw), "Forbidden") {
					t.Errorf("%s says what a guardrail refused: %s", c.Method, raw)
				}
			}
		})
	}
}

// TestWorkspacesThatDoNotStream: the answer is posted, and Slack is asked once.
func TestWorkspacesThatDoNotStream(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault *slackdev.Fault
		with  slackdev.Config
		says  string // in the log
	}{
		"an old server":   {nil, slackdev.Config{NoStreams: true}, "unknown_method"},
		"a policy":        {&slackdev.Fault{Error: "access_denied"}, slackdev.Config{}, "access_denied"},
		"a missing scope": {&slackdev.Fault{Error: "missing_scope"}, slackdev.Config{}, "install it again"},
		"the channel":     {&slackdev.Fault{Error: "channel_type_not_supported"}, slackdev.Config{}, ""},
		"too many starts": {&slackdev.Fault{RetryAfter: time.Minute}, slackdev.Config{}, ""},
		"a broken answer": {&slackdev.Fault{Status: 500}, slackdev.Config{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := newTypist(scripted.Say("One.\nTwo."))
			w := startWorld(t, &world{policy: everybody{}, model: model, tune: streamsSoon, with: c.with})
			if c.fault != nil {
				c.fault.Method, c.fault.Times = methodStartStream, -1
				w.slack.Fail(*c.fault)
			}
			thread := w.mention("U0ANN", "tell me", "")
			model.pieces <- "One.\n"
			w.eventually("an attempt", func() bool {
				all := w.calls(methodStartStream)
				return len(all) > 0 && all[0].Status != 0
			})
			model.pieces <- ""
			if all := w.answered(thread); len(all) != 1 || len(w.own("C0GENERAL", thread)) != 1 {
				t.Errorf("%d answers", len(all))
			}
			if name == "a broken answer" {
				return // nobody knows what the next one brings
			}
			again := w.mention("U0ANN", "tell me", "")
			if all := w.answered(again); len(all) != 1 {
				t.Errorf("%d answers", len(all))
			}
			if n := len(w.calls(methodStartStream)); n != 1 {
				t.Errorf("%d attempts to stream", n)
			}
			if !strings.Contains(w.logs.String(), c.says) {
				t.Errorf("the log does not say %q", c.says)
			}
		})
	}
}

// calls lists the calls of a method.
func (s *stage) calls(method string) []slackdev.Call {
	return slices.DeleteFunc(s.slack.Calls(), func(c slackdev.Call) bool { return c.Method != method })
}

// TestStreamGoesOnAfter429: what Slack sends away comes with the next addition, in order and once.
func TestStreamGoesOnAfter429(t *testing.T) {
	t.Parallel()
	model := newTypist(scripted.Say("One.\nTwo.\nThree."))
	w := startWorld(t, &world{policy: everybody{}, model: model, tune: streamsSoon})
	thread := w.mention("U0ANN", "tell me", "")
	model.pieces <- "One.\n"
	w.streamed(thread, "One.")
	w.slack.Fail(slackdev.Fault{Method: methodAppendStream, RetryAfter: time.Second})
	model.pieces <- "Two.\n"
	w.eventually("a 429", func() bool {
		return slices.ContainsFunc(w.calls(methodAppendStream), func(c slackdev.Call) bool { return c.Status == 429 })
	})
	model.pieces <- "Three.\n"
	m := w.streamed(thread, "Three.")
	if !strings.Contains(m.Shown(), "One.\nTwo.\nThree.") {
		t.Errorf("shown: %q", m.Shown())
	}
	close(model.pieces)
	if all := w.answered(thread); len(all) != 1 || all[0].Shown() != "One.\nTwo.\nThree." {
		t.Errorf("answers %v", all)
	}
}

// TestStreamThatSlackEnds: Slack ends streams by itself after some minutes. The answer takes the message's place all
// the same; a run that pauses says so in it.
func TestStreamThatSlackEnds(t *testing.T) {
	t.Parallel()
	for _, pauses := range []bool{false, true} {
		asks := pay("call_1")
		asks.Items = append([]agent.Item{agent.AssistantMessage("I will pay.")}, asks.Items...)
		model := newTypist(scripted.Say("One.\nTwo."))
		if pauses {
			model = newTypist(asks, scripted.Say("Paid."))
		}
		w := startWorld(t, &world{policy: everybody{}, model: model, tune: streamsSoon, with: slackdev.Config{
			StreamLife: time.Millisecond,
		}})
		thread := w.mention("U0ANN", "tell me", "")
		model.pieces <- "One.\n"
		first := w.streamed(thread, "One.")
		model.pieces <- "Two.\n"
		w.eventually("Slack to have ended it", func() bool {
			return slices.ContainsFunc(w.calls(methodAppendStream), func(c slackdev.Call) bool {
				return c.Error == "message_not_in_streaming_state"
			})
		})
		close(model.pieces)
		if pauses {
			w.card(thread, 1)
			w.eventually("the message says that it waits", func() bool {
				m, _ := w.slack.Message(first.Channel, first.TS)
				return strings.HasPrefix(m.Shown(), "People were asked about transfer_funds")
			})
			continue
		}
		if all := w.answered(thread); len(all) != 1 || all[0].TS != first.TS || all[0].Shown() != "One.\nTwo." {
			t.Errorf("answers %v", all)
		}
	}
}
