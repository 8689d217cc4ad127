package approvals_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/guardrail"
	"countersign/approvals"
)

// TestBrokenOffInAChangedWorld kills the process in the middle of a call that people approved, while the state of its
// run says that the call waits for them, and changes something that would have it asked about anew or refused. People
// are asked what became of it, and the model is not told that it was not carried out: it may make it again.
func TestBrokenOffInAChangedWorld(t *testing.T) {
	t.Parallel()
	const given = "It is not known whether this call was carried out, and a person has given it up."
	const again = "It is not known whether this call was carried out. It was not tried again, " +
		"because what it depends on has changed."
	stricter := func(b *bench) { b.policy.always(named(2, bob, cara)) }
	for name, tt := range map[string]struct {
		tool   string
		before func(tool *agent.Tool, b *bench)
		change func(tool *agent.Tool, b *bench)
		want   string // what the model reads; by default that somebody gave the call up
		ended  bool   // nobody is asked, as the call is ended with that
	}{
		"its tool":                  {tool: "pay", change: newVersion},
		"its tool, which may again": {tool: "look", change: newVersion},
		"its policy":                {tool: "pay", change: func(_ *agent.Tool, b *bench) { stricter(b) }},
		"its policy, may again":     {tool: "look", change: func(_ *agent.Tool, b *bench) { stricter(b) }},
		"what it depends on":        {tool: "pay", before: dependsOnEffects, change: dependsOnEffects},
		"what it depends on, may again": {
			tool: "look", before: dependsOnEffects, change: dependsOnEffects, want: again, ended: true,
		},
		"what it depends on cannot be read": {tool: "pay", before: dependsOnEffects, change: dependsOnNothing},
		"a guardrail":                       {tool: "pay", change: objecting},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			asked := asks(call("c1", tt.tool, `{}`))
			b.changing(asked, tt.tool, tt.before, true)
			b.start()
			r := b.question(b.submit())
			b.must(r, bob, approvals.Approve, "")
			b.until("the crash", func() bool { return b.mortal.dead.Load() })
			b.reopen()
			b.changing(asked, tt.tool, tt.change, false)
			b.start()
			want := tt.want
			if !tt.ended {
				q := b.question(r.Run)
				if q.Kind == agent.OutcomeUnknown {
					b.must(q, bob, approvals.GiveUp, "no trace")
					want = given
				} else {
					b.must(q, bob, approvals.Reject, "no more")
				}
			}
			got := b.reaches(r.Run, approvals.RunDone).Output
			if want == "" || !strings.HasPrefix(got, "c1: "+want) {
				t.Errorf("the model was told %q, want %q", got, want)
			}
			if known := b.request(r.ID).Outcome; !tt.ended && known != approvals.OutcomeUnknown {
				t.Errorf("the request says %q", known)
			}
			if !tt.ended {
				b.knows(r.Run, approvals.OutcomeUnknown)
			}
			if n := len(b.effects.all()); n != 1 {
				t.Errorf("%d effects", n)
			}
			b.stop()
		})
	}
}

// changing sets up the agent with its tool of that name changed, whose call kills the process if it is to die.
func (b *bench) changing(m agent.Model, name string, change func(*agent.Tool, *bench), dies bool) {
	tools := b.tools()
	for i := range tools {
		tool := &tools[i]
		if tool.Name != name {
			continue
		}
		if change != nil {
			change(tool, b)
		}
		if work, mortal := tool.Invoke, b.mortal; dies {
			tool.Invoke = func(ctx context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
				defer mortal.kill()
				return work(ctx, c)
			}
		}
	}
	b.agent(m, tools...)
}

func newVersion(tool *agent.Tool, _ *bench) { tool.Version = "2" }

func dependsOnEffects(tool *agent.Tool, b *bench) {
	tool.Preconditions = func(context.Context, *agent.ToolCall) ([]string, error) {
		return []string{fmt.Sprint("carried out: ", len(b.effects.all()))}, nil
	}
}

func dependsOnNothing(tool *agent.Tool, _ *bench) {
	tool.Preconditions = func(context.Context, *agent.ToolCall) ([]string, error) {
		return nil, errors.New("no route to host")
	}
}

func objecting(tool *agent.Tool, _ *bench) {
	tool.InputGuardrails = []agent.ToolInputGuardrail{{Name: "g", Check: refuses, BeforeApproval: true}}
}

func refuses(context.Context, *agent.ToolCall) (guardrail.Verdict, error) {
	return guardrail.Verdict{Action: guardrail.Replace, Message: "The call was not carried out: too much."}, nil
}

// TestUngatedBrokenOffInAChangedWorld is TestBrokenOffInAChangedWorld for calls that nobody had to approve, of tools
// that change while the process is down.
func TestUngatedBrokenOffInAChangedWorld(t *testing.T) {
	t.Parallel()
	const unknown = "It is not known whether this call was carried out, "
	free := func(tool *agent.Tool, _ *bench) { tool.NeedsApproval = nil }
	refusing := func(tool *agent.Tool, b *bench) {
		free(tool, b)
		newVersion(tool, b)
		tool.Validate = func(json.RawMessage) error { return errors.New("amount must be text") }
	}
	for name, tt := range map[string]struct {
		tool   string
		change func(tool *agent.Tool, b *bench)
		asked  bool
	}{
		"not taken any more":                                {tool: "note", change: refusing},
		"not taken any more, may again":                     {tool: "look", change: refusing},
		"has to be approved, may again":                     {tool: "look", change: nil, asked: true},
		"changed and has to be approved, may again":         {tool: "look", change: newVersion, asked: true},
		"has to be approved, and a guardrail is against it": {tool: "look", change: objecting, asked: true},
		"changed, and a guardrail is against it": {
			tool: "look", asked: true, change: func(tool *agent.Tool, b *bench) {
				newVersion(tool, b)
				objecting(tool, b)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			asked := asks(call("c1", tt.tool, `{}`))
			b.changing(asked, tt.tool, free, true)
			b.start()
			id := b.submit()
			b.until("the crash", func() bool { return b.mortal.dead.Load() })
			b.reopen()
			b.changing(asked, tt.tool, tt.change, false)
			b.start()
			want := unknown + "and it will not be tried again."
			if tt.asked {
				want = unknown + "and a person has given it up."
				q := b.question(id)
				if q.Kind != agent.OutcomeUnknown {
					t.Fatalf("people are asked whether a call may run that has begun: %s", q.Kind)
				}
				b.must(q, bob, approvals.GiveUp, "no trace")
			}
			if got := b.reaches(id, approvals.RunDone).Output; !strings.HasPrefix(got, "c1: "+want) {
				t.Errorf("the model was told %q, want %q", got, want)
			}
			b.knows(id, approvals.OutcomeUnknown)
			if got := b.doubted(); len(got) != 1 {
				t.Errorf("the trail doubts the attempts %v", got)
			}
			b.until("what is to be told", b.delivered)
			said := b.surface.texts(approvals.NotifyNotice)
			told := len(said) == 1 && strings.HasPrefix(said[0], "Unknown whether it was carried out: "+tt.tool)
			if !told && !tt.asked {
				t.Errorf("people are told %q", said)
			}
			b.stop()
		})
	}
}

// TestBrokenOffUnderAGrant kills the process in the middle of a call that a grant has let run, while the state of its
// run says that the call waits for people, whom nobody has asked.
func TestBrokenOffUnderAGrant(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before func(tool *agent.Tool, b *bench)
		change func(b *bench, g approvals.GrantID)
	}{
		"still granted": {change: func(*bench, approvals.GrantID) {}},
		"revoked":       {change: func(b *bench, g approvals.GrantID) { b.check(b.revoke(g, bob)) }},
		"denied since":  {change: func(b *bench, g approvals.GrantID) { b.denies(g) }},
		"depends on it": {before: dependsOnEffects, change: func(*bench, approvals.GrantID) {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, r := granting(t)
			g := b.granted(r, bob, approvals.AlwaysApprove, approvals.GrantTerms{Scope: approvals.ScopeThread})
			asked := asks(call("c1", "pay", `{"amount":5,"to":"acme"}`))
			b.changing(asked, "pay", tt.before, true)
			id := b.submit()
			b.until("the crash", func() bool { return b.mortal.dead.Load() })
			b.reopen()
			tt.change(b, g.ID)
			b.changing(asked, "pay", tt.before, false)
			b.start()
			q := b.question(id)
			if q.Kind != agent.OutcomeUnknown {
				t.Fatalf("people are asked whether a call may run that has begun: %s", q.Kind)
			}
			b.must(q, bob, approvals.GiveUp, "no trace")
			const want = "c1: It is not known whether this call was carried out, and a person has given it up."
			if got := b.reaches(id, approvals.RunDone).Output; !strings.HasPrefix(got, want) {
				t.Errorf("the model was told %q", got)
			}
			b.knows(id, approvals.OutcomeUnknown)
			b.stop()
		})
	}
}

// denies has a grant that is like the other one reject what that one allows.
func (b *bench) denies(like approvals.GrantID) {
	b.Helper()
	b.check(b.store.Update(b.Context(), func(tx approvals.Tx) error {
		g, err := tx.Grant(ws, like)
		if err != nil {
			return err
		}
		g.ID, g.Deny = approvals.NewGrantID(tx.Now()), true
		return tx.PutGrant(g)
	}))
}

// TestEndedInAChangedWorld kills the process when the output of a call is recorded and its run does not know, and
// changes something that would have the call asked about anew or refused. The model reads what the card says: the
// output. People are asked about nothing, and nothing runs.
func TestEndedInAChangedWorld(t *testing.T) {
	t.Parallel()
	free := func(tool *agent.Tool, _ *bench) { tool.NeedsApproval = nil }
	refusing := func(tool *agent.Tool, b *bench) {
		newVersion(tool, b)
		tool.Validate = func(json.RawMessage) error { return errors.New("amount must be text") }
	}
	tooLate := func(tool *agent.Tool, b *bench) {
		tool.Invoke = func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
			b.Error("the call was made again")
			return agent.ToolOutput{}, nil
		}
	}
	elsewhere := func(tool *agent.Tool, _ *bench) { tool.External, tool.Invoke = true, nil }
	for name, change := range map[string]func(tool *agent.Tool, b *bench){
		"nothing":             func(*agent.Tool, *bench) {},
		"its version":         newVersion,
		"what it takes":       refusing,
		"what it depends on":  dependsOnEffects,
		"cannot be looked up": dependsOnNothing,
		"a guardrail":         objecting,
		"carried out outside": elsewhere,
		"its gate":            free,
		"its policy":          func(_ *agent.Tool, b *bench) { b.policy.always(named(2, bob, cara)) },
	} {
		for _, tool := range []string{"pay", "look", "note"} {
			t.Run(tool+", "+name, func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				asked := asks(call("c1", tool, `{}`))
				b.changing(model(func(req *agent.ModelRequest) ([]agent.Item, error) {
					if len(outputs(req)) > 0 {
						b.mortal.kill()
					}
					return asked(req)
				}), tool, nil, false)
				b.start()
				id := b.submit()
				if tool != "note" {
					b.must(b.question(id), bob, approvals.Approve, "")
				}
				b.until("the crash", func() bool { return b.mortal.dead.Load() })
				b.reopen()
				b.changing(asked, tool, func(tool *agent.Tool, b *bench) {
					tooLate(tool, b)
					change(tool, b)
				}, false)
				b.start()
				if got := b.reaches(id, approvals.RunDone).Output; !strings.HasPrefix(got, "c1: "+tool+" done") {
					t.Errorf("the model was told %q", got)
				}
				b.knows(id, approvals.OutcomeRan)
				if got := b.doubted(); len(got) != 0 {
					t.Errorf("the trail doubts the attempts %v", got)
				}
				b.stop()
			})
		}
	}
}

// TestMemoryOfACallWhoseToolIsGone kills the process in the middle of an approved call, or when its output is recorded
// and its run does not know, and takes the tool away. The run ends with an error, and what the next one of the place
// reads is what the journal knows, and not that the call was not carried out: its model may make it again.
func TestMemoryOfACallWhoseToolIsGone(t *testing.T) {
	t.Parallel()
	const unknown = "It is not known whether this call was carried out: it was begun, and nothing was heard of it."
	for want, recorded := range map[string]bool{unknown: false, "pay done": true} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			asked := asks(call("c1", "pay", `{}`))
			b.changing(model(func(req *agent.ModelRequest) ([]agent.Item, error) {
				if len(outputs(req)) > 0 {
					b.mortal.kill()
				}
				return asked(req)
			}), "pay", nil, !recorded)
			b.start()
			r := b.question(b.submit())
			b.must(r, bob, approvals.Approve, "")
			b.until("the crash", func() bool { return b.mortal.dead.Load() })
			b.reopen()
			read := make(chan string, 1)
			tools := slices.DeleteFunc(b.tools(), func(t agent.Tool) bool { return t.Name == "pay" })
			b.agent(model(func(req *agent.ModelRequest) ([]agent.Item, error) {
				n := slices.IndexFunc(req.Items, func(it agent.Item) bool { return it.IsOutput() })
				if n < 0 {
					return nil, errors.New("there is no output of the earlier call")
				}
				read <- req.Items[n].Output
				return []agent.Item{agent.AssistantMessage("Hello.")}, nil
			}), tools...)
			b.start()
			b.reaches(r.Run, approvals.RunFailed)
			b.submit()
			if got := <-read; got != want {
				t.Errorf("the next run reads %q, want %q", got, want)
			}
			b.stop()
		})
	}
}
