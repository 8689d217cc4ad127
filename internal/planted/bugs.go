package main

// bug is one way to break a promise.
type bug struct {
	name  string
	what  string   // what goes wrong with it
	in    string   // the directory of the package whose code is changed
	edits []edit   // what is changed there
	test  []string // the arguments of go test
	red   string   // every test that turns red starts with this, and one at least does
}

// edit replaces a piece of code that occurs exactly once in a package. White space counts as equal to any other, so
// indentation and the file do not matter. The result must compile: write "&& false" rather than leave a variable
// unused.
type edit struct{ find, replace string }

// bugs is the table. The first few break what the service promises (docs/reliability.md).
var bugs = []bug{
	domain("no_digest", "a decision counts whatever it was shown",
		edit{"return a == b }", "return true }"}),
	domain("no_fencing", "a worker that lost its lease may still write",
		edit{"return r.Epoch == x.run.Epoch && r.Status == RunRunning", "return true"}),
	domain("no_intent", "the journal forgets that an effect was begun",
		edit{"return c.PutEffect(rec)", "return nil"},
		edit{`fault.Point("effect.after_tool_before_commit")`, "if true { return nil }"}),
	{
		name: "ack_early", what: "an event is acknowledged before it is stored", in: "bot",
		edits: []edit{
			{"a, err := d.handle(ctx)", "answered = true; b.acknowledge(back, nil); a, err := d.handle(ctx)"},
			{"b.acknowledge(back, a.payload)", ""},
		},
		test: []string{"./bot", "-run", "Ack|Stor|Commit|Redeliver", "-patience", "5s", "-rapid.nofailfile"},
	},

	// One for each group of dialogues about approval (agent/testdata/dialogues).
	dialogues("a", "a gate that fails lets the call through",
		edit{"case k.gate == gateFree:", "case k.gate == gateFree || k.gate == gateBroken:"}),
	dialogues("b", "ids of questions hold what the provider wrote, unescaped",
		edit{"b.WriteString(url.PathEscape(callID))", "b.WriteString(callID)"}),
	dialogues("c", "a call that is made again under its id with other arguments counts as the same",
		edit{"if a.Arguments == b.Arguments {", "if true {"}),
	dialogues("d", "a decision with Always erases the exact ones that people gave before",
		edit{"d.Agent, d.Tool, d.Definition = f.agent, c.Tool, *c.Definition", `
			d.Agent, d.Tool, d.Definition = f.agent, c.Tool, *c.Definition
			for _, other := range f.calls {
				if other.Tool == c.Tool && other.Decision != nil && other.Decision.Approve != d.Approve {
					other.Decision = nil
				}
			}`}),
	dialogues("e", "the message of a standing rejection goes before that of the exact one",
		edit{"r.verdict == rejected && r.message == nil", "r.verdict == rejected"}),
	dialogues("f", "people are asked although a guardrail has answered the call",
		edit{"v.Action == guardrail.Allow, v.Action == guardrail.AskAgain:",
			"v.Action == guardrail.Allow, v.Action == guardrail.AskAgain, v.Action == guardrail.Replace:"}),
	dialogues("g", "questions share their arguments with the state",
		edit{"slices.Clone(c.arguments())", "c.arguments()"}),
	dialogues("h", "a tool choice is forced for ever",
		edit{"&& f.hasCalled(a.Name)", "&& false"}),
	dialogues("i", "inside an agent used as a tool, what is approved waits for its siblings",
		edit{"m.next = decide(c, m.tool, m.known)", `
			m.next = decide(c, m.tool, m.known)
			if l.frame.parent != nil && c.State == callWaiting && len(l.frame.questions(nil, unanswered)) > 0 {
				m.next = step{act: actWait}
			}`}),
	dialogues("j", "a stream is not told of tools that start",
		edit{"l.tell(ToolStarted{Call: j.view.clone()})", ""}),
	dialogues("k", "what the session holds is not in a checkpoint",
		edit{"if len(ready) > 0 { return x.checkpoint(ctx)", "if false { return x.checkpoint(ctx)"}),
	dialogues("m", "a saved call may have other arguments than were decided",
		edit{"if c.Definition.Call(c.arguments(), c.Preconditions...) != *c.Digest {", "if false {"}),
	dialogues("o", "two tools of a toolset may have one name",
		edit{"if seen[t.Name] {", "if false {"}),
}

// domain is a bug in approvals that any of its tests may find.
func domain(name, what string, edits ...edit) bug {
	return bug{name, what, "approvals", edits, []string{"./approvals", "-patience", "5s", "-rapid.nofailfile"}, ""}
}

// dialogues is a bug in agent that dialogues of one group must find, and no others: a bug that turns half of them red
// shows nothing about the group's own rules.
func dialogues(group, what string, edits ...edit) bug {
	return bug{group, what, "agent", edits, []string{"./agent", "-run", "^TestDialogues$"}, "TestDialogues/" + group}
}
