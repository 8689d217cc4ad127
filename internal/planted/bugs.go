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
		"^TestRequestDoesNotCoverAnotherCall$|^TestDecide|Stale",
		edit{"return a == b }", "return true }"}),
	domain("no_fencing", "a worker that lost its lease may still write",
		"^TestZombieWritesNothing$|^TestLostLease|^TestLateOutput",
		edit{"return r.Epoch == x.run.Epoch && r.Status == RunRunning", "return true"}),
	domain("no_intent", "the journal forgets that an effect was begun",
		"^TestCrashEverywhere$|^TestUnknownOutcomeAsksAPerson$|^TestIdempotentTool",
		edit{"return c.PutEffect(rec)", "return nil"},
		edit{`fault.Point("effect.after_tool_before_commit")`, "if true { return nil }"}),
	simulated("second_refused", "that a call is refused when it is made again counts as its answer", "approvals",
		edit{"return agent.Prior{Begun: !fresh}, rec.Attempt", "return agent.Prior{}, rec.Attempt"}),
	{
		name: "provider_told_again", what: "after a crash the provider is told again to carry out a call", in: "agent",
		edits: []edit{{"|| j.tool.agent != nil || c.unsent,",
			"|| j.tool.agent != nil || c.unsent || j.tool.Wire == WireHosted,"}},
		test: []string{"./agent", "-run", "^TestDialogues$/^c08_hosted"},
	},
	simulated("outbox_popped", "a notification leaves the outbox before it is posted", "approvals",
		edit{`fault.Point("outbox.claimed")`, `
			popped := update(ctx, q.store, n.Workspace, func(c *txn) error { return c.DeleteNotification(n) })
			if popped != nil {
				return popped
			}`}),
	domain("stolen_lease", "a run is claimed although somebody else works on it", "Replicas|Lease",
		edit{"r.Status == RunRunning && !w.mayTake(r) {", "r.Status == RunRunning && !w.mayTake(r) && false {"}),
	simulated("posted_again", "nobody looks for a post that may be there already", "bot",
		edit{"if b.surelyFirst(n) {", "if b.surelyFirst(n) || true {"}),
	{
		name: "sealed_twice", what: "entries are linked into the chain, and stay among those to be linked",
		in:    "store/storetest",
		edits: []edit{{"t.remove(unsealed)", "t.remove(unsealed + unsealed)"}},
		test:  []string{"./store/storetest", "-run", "^TestMemory$"},
	},
	domain("timer_lost", "a request is asked, and nothing is planned for its end", "Expir|Remind|Escalat",
		edit{"if r.NextAct = r.nextAct(); !r.NextAct.IsZero() {",
			"if r.NextAct = r.nextAct(); !r.NextAct.IsZero() && false {"}),
	domain("one_use_too_many", "a grant is good for one more call than it says", "Grant",
		edit{"case g.Uses > 0 && g.Used >= g.Uses:", "case g.Uses > 0 && g.Used > g.Uses:"},
		edit{"(g.Uses == 0 || g.Used < g.Uses)", "(g.Uses == 0 || g.Used <= g.Uses)"}),
	domain("stale_rights", "a decision rests on what was known of a person before the click",
		"Decide|Group|Leaver|Gather|Facts|Judge",
		edit{"g = newGatherer(s.directory, s.policy, seen.conversation(), arrived)",
			"g = newGatherer(s.directory, s.policy, seen.conversation(), noTime)"}),
	{
		name: "unkeyed_cursor", what: "the next page of requests begins again at the first", in: "store/boltstore",
		edits: []edit{{"return t.ordered(bucket, ws, string(q.After), q.Newest,",
			`return t.ordered(bucket, ws, string(q.After[:0]), q.Newest,`}},
		test: []string{"./store/boltstore", "-run", "^TestConformance$", "-timeout", "60s"},
	},
	surface("form_without_decision", "a form is acknowledged, and nothing is decided", "Form|Reason|Modal|Edit",
		edit{`res := b.record(ctx, r, d, s.arrived)
				if res.late != nil { return s.answeredLater(`, `
				res := result{request: r}
				if res.late != nil { return s.answeredLater(`}),
	surface("dead_copy", "the copies of a card are never brought up to date", "Copy|Copies",
		edit{"if at.Copy != n.Copy || at.List {", `if at.Copy != n.Copy || at.List || n.Copy != "" {`}),
	surface("any_state", "an installation goes on whatever browser comes back", "Install|State",
		edit{"if !hmac.Equal(sum, s.sum(body, cookie)) {", "if !hmac.Equal(sum, s.sum(body, cookie)) && false {"}),
	{
		name: "ack_early", what: "an event is acknowledged before it is stored", in: "bot",
		edits: []edit{
			{"a, err := d.handle(ctx)", "answered = true; b.acknowledge(back, nil); a, err := d.handle(ctx)"},
			{"b.acknowledge(back, a.payload)", ""},
		},
		test: []string{"./bot", "-run", "Ack|Stor|Commit|Redeliver", "-patience", "5s", "-rapid.nofailfile"},
	},

	// What the store in PostgreSQL promises beside the contract of all stores: several processes, lost connections.
	database("commit_given_up", "a commit whose answer was lost counts as one that failed", "^TestCommitCut$",
		edit{"switch outcome, asking := t.store.outcome(t.ctx, t.id, historyOf(t.conn.Conn())); {",
			`switch outcome, asking := "aborted", error(nil); {`}),
	database("commit_believed", "a commit whose answer was lost counts as one that succeeded", "^TestCommitCut$",
		edit{`case outcome == "committed":`, `case outcome != "":`}),
	database("other_history", "a server that has crashed is believed what it says of a transaction",
		"^TestOtherHistory$",
		edit{"if historyOf(conn) != history {", "if historyOf(conn) != history && false {"}),
	database("stop_is_failure", "a server that stops is taken to say that it has not committed", "^TestCommitCut$",
		edit{`refusal.SeverityUnlocalized == "ERROR"`, `refusal.Severity != "PANIC"`},
		edit{`refusal.Code[:2] != "57" && refusal.Code[:2] != "08"`, `refusal.Code != ""`}),
	database("death_is_failure", "what a server dies of is taken to say that it has not committed", "^TestCommitCut$",
		edit{`refusal.SeverityUnlocalized == "ERROR"`, `refusal.Severity != ""`}),
	database("read_committed", "transactions that write are not serializable", "^TestWriteSkew$",
		edit{`begin = "begin isolation level serializable"`, `begin = "begin isolation level read committed"`}),
	database("no_second_try", "a transaction that the server refuses because of others is not tried again",
		"^TestNeighbours$",
		edit{"case codeSerialization, codeDeadlock, codeUnique:", "case codeDeadlock, codeUnique:"}),
	database("shared_blindly", "of closures that share a transaction one has read what another one writes",
		"^TestTogetherOverlap$",
		edit{"if b.written[p] && !b.q.store.cfg.loose {", "if b.written[p] && !b.q.store.cfg.loose && false {"}),
	database("job_apart", "a job is written after the transaction that has enqueued it", "^TestJobIsInTheTransaction$",
		edit{"t.add(c.statement(enqueueRows))", `t.afterCommit(func() {
			t.store.update(t.ctx, func(o *tx) error { o.add(c.statement(enqueueRows)); return nil })
		})`}),
	database("ack_unfenced", "who has lost a job acknowledges it all the same", "^TestClaimsAreFenced$",
		edit{"if c.unfenced {", "if true {"}),
	database("number_unfenced", "a claim is fenced by its owner, and not by which of theirs it is",
		"^TestClaimsAreFenced$",
		edit{`const fence = "j.claim_owner = $4 and j.claim_number = $5"`,
			`const fence = "j.claim_owner = $4 and $5::bigint is not null"`}),
	database("claimed_twice", "a job is claimed although a handler is at work on it", "^TestClaimsAreFenced$",
		edit{"j.due <= now() and ` + unclaimed + ` for update", "j.due <= now() for update"}),
	database("own_clock", "the store's time is that of this process, not the server's", "^TestClockIsTheServers$",
		edit{"s.clock.tell(time.UnixMicro(wall), before, s.elapsed())",
			"s.clock.tell(time.UnixMicro(min(wall, time.Now().UnixMicro())), before, s.elapsed())"}),
	database("no_polling", "where notifications do not arrive nobody looks for reminders", "^TestWithoutNotifications$",
		edit{"FetchPollInterval: pollEvery,", "FetchPollInterval: time.Hour,"}),
	database("never_swept", "a job is lost with the process that was told of it", "^TestReplicaKilled$",
		edit{"if !d.sweep.IsZero() && !now.Before(d.sweep) {", "if !d.sweep.IsZero() && false {"}),
	database("format_raised", "a new format is written while a replica is there that cannot read it", "^TestRollout$",
		edit{"select from replicas where reads < $1 and until > clock_timestamp())`",
			"select from replicas where false)`"}),

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

// domain is a bug in approvals that those of its tests find whose names match.
func domain(name, what, tests string, edits ...edit) bug {
	args := []string{"./approvals", "-run", tests, "-patience", "5s", "-rapid.nofailfile"}
	return bug{name, what, "approvals", edits, args, ""}
}

// surface is domain for a bug in bot.
func surface(name, what, tests string, edits ...edit) bug {
	args := []string{"./bot", "-run", tests, "-patience", "5s", "-rapid.nofailfile"}
	return bug{name, what, "bot", edits, args, ""}
}

// database is domain for a bug in the store in PostgreSQL.
func database(name, what, tests string, edits ...edit) bug {
	args := []string{"./store/pgstore", "-run", tests, "-patience", "10s"}
	return bug{name, what, "store/pgstore", edits, args, ""}
}

// simulated is a bug in a package that schedules of faults bring to light.
func simulated(name, what, in string, edits ...edit) bug {
	args := []string{"./internal/simulation", "-run", "^TestSimulation$", "-seeds", "300"}
	return bug{name, what, in, edits, args, ""}
}

// dialogues is a bug in agent that dialogues of one group must find, and no others: a bug that turns half of them red
// shows nothing about the group's own rules.
func dialogues(group, what string, edits ...edit) bug {
	return bug{group, what, "agent", edits, []string{"./agent", "-run", "^TestDialogues$"}, "TestDialogues/" + group}
}
