package testfile

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
)

// The words of steps.
var (
	Statuses  = []string{"pending", "approved", "rejected", "expired", "cancelled", "stale", "superseded"}
	Outcomes  = []string{"running", "ran", "failed", "not run", "unknown"}
	RunWords  = []string{"waiting", "done", "failed", "cancelled"}
	restarts  = []string{"kill", "stop"}
	cliBanned = []string{"run", "demo", "test"}
)

// direct stands for the direct message with the bot, where a channel may stand.
const direct = "direct"

// stepChecker judges the steps of one test in their order.
type stepChecker struct {
	*decoder
	file    *File
	cards   []string // named so far
	threads []string
	directs []string // those of threads that are in direct messages
}

func (c *stepChecker) step(s *Step) {
	c.action(s)
	c.place(s)
	c.ofCard(s)
	c.oneOf(s.At, "status", s.Status, Statuses)
	c.oneOf(s.At, "outcome", s.Outcome, Outcomes)
	c.oneOf(s.At, "run", s.Run, RunWords)
	c.oneOf(s.At, "restart", s.Restart, restarts)
	for _, r := range s.Calls {
		c.received(r)
	}
	for path := range s.Files {
		if !filepath.IsLocal(filepath.FromSlash(path)) {
			c.problem(s.At, "files: %q is not a path below the folder that agents work in", path)
		}
	}
	for _, card := range s.Cards {
		c.newCard(card)
	}
	for _, e := range s.Audit {
		c.entry(e)
	}
	if s.expectsNothing() && s.Change == nil {
		c.problem(s.At, "the step expects nothing; say what must come of it, such as cards, status, says, told or run")
	}
}

// actions are the keys of the things that the step does.
func (s *Step) actions() (done []string) {
	for _, a := range []struct {
		key string
		set bool
	}{
		{"mention", s.Mention != ""}, {"message", s.Message != ""}, {"click", s.Click != ""},
		{"command", s.Command != ""}, {"cli", len(s.CLI) > 0},
		{"restart", s.Restart != ""}, {"change", s.Change != nil},
		{"callback", s.Callback != nil},
	} {
		if a.set {
			done = append(done, a.key)
		}
	}
	return done
}

func (s *Step) expectsNothing() bool {
	return len(s.Cards) == 0 && len(s.Opens) == 0 && s.Status == "" && s.Outcome == "" && s.DecidedBy == nil &&
		len(s.Shows) == 0 && len(s.Calls) == 0 && len(s.Says) == 0 && len(s.Told) == 0 && s.Run == "" &&
		len(s.Audit) == 0 && len(s.Files) == 0 && len(s.Prints) == 0 && len(s.CLI) == 0 && s.Restart == ""
}

func (c *stepChecker) action(s *Step) {
	done := s.actions()
	if len(done) > 1 {
		c.problem(s.At, "a step does one thing, not %s", strings.Join(done, " and "))
	}
	by := s.Mention != "" || s.Message != "" || s.Click != "" || s.Command != ""
	switch {
	case by && s.By == "":
		c.problem(s.At, "the step needs by: who does it")
	case !by && s.By != "" && len(s.Told) == 0:
		c.problem(s.At, "by has no meaning in a step in which nobody does anything and is told nothing")
	case s.By != "":
		c.known(s.At, "person", s.By, keysOf(c.file.People))
	case len(s.Told) > 0:
		c.problem(s.At, "told needs by: who is told")
	}
	if s.Click == "" && (len(s.Fill) > 0 || len(s.Opens) > 0) {
		c.problem(s.At, "fill and opens are about the window that a click opens")
	}
	if s.Command != "" && !strings.HasPrefix(s.Command, "/") {
		c.problem(s.At, "a slash command begins with a slash, not %q", s.Command)
	}
	if len(s.CLI) == 0 && (s.Exit != 0 || len(s.Prints) > 0) {
		c.problem(s.At, "exit and prints are about cli")
	}
	if len(s.CLI) > 0 && slices.Contains(cliBanned, s.CLI[0]) {
		c.problem(s.At, "cli: %s does not end by itself, or needs a world of its own", s.CLI[0])
	}
	if s.Change != nil {
		c.change(s.Change)
	}
}

// change judges and completes what becomes of the workspace.
func (c *stepChecker) change(ch *Change) {
	for name, p := range ch.People {
		if c.known(p.At, "person", name, keysOf(c.file.People)) {
			c.oneOf(p.At, "role", p.Role, Roles)
			p.ID = c.file.People[name].ID
			ch.People[name] = p
		}
	}
	for name, g := range ch.Groups {
		if c.known(g.At, "group", name, keysOf(c.file.Groups)) {
			c.members(c.file, g.At, g.Members)
			g.ID = c.file.Groups[name].ID
			ch.Groups[name] = g
		}
	}
	for name, channel := range ch.Channels {
		if c.known(channel.At, "channel", name, keysOf(c.file.Channels)) {
			c.members(c.file, channel.At, channel.Members)
			channel.ID = c.file.Channels[name].ID
			ch.Channels[name] = channel
		}
	}
}

// place judges where something is said, and completes it where there is only one place.
func (c *stepChecker) place(s *Step) {
	says := s.Mention != "" || s.Message != ""
	if !says && s.Command == "" {
		if s.In != "" {
			c.problem(s.At, "in has no meaning here: the step says nothing and gives no command")
		}
		if s.Thread != "" {
			c.known(s.At, "thread", s.Thread, c.threads)
		}
		return
	}
	channels := keysOf(c.file.Channels)
	begun := s.Thread != "" && slices.Contains(c.threads, s.Thread)
	switch {
	case s.In == "" && begun:
	case s.In == "" && len(channels) == 1:
		s.In = channels[0]
	case s.In == "":
		c.problem(s.At, "the step needs in: the channel, or direct")
	case s.In != direct:
		c.known(s.At, "channel", s.In, channels)
	}
	if s.In == direct && s.Mention != "" {
		c.problem(s.At, "in a direct message nobody is mentioned; write message")
	}
	toBot := s.In == direct || begun && slices.Contains(c.directs, s.Thread)
	if s.Message != "" && !toBot {
		c.problem(s.At, "the bot hears a message without a mention in direct messages only: write mention, or "+
			"in: direct")
	}
	if says && s.Thread != "" && !begun {
		c.threads = append(c.threads, s.Thread)
		if toBot {
			c.directs = append(c.directs, s.Thread)
		}
	}
}

// ofCard judges what is about one card.
func (c *stepChecker) ofCard(s *Step) {
	about := s.Click != "" || s.Callback != nil || s.Status != "" || s.Outcome != "" ||
		s.DecidedBy != nil || len(s.Shows) > 0
	switch {
	case about && s.Card == "":
		c.problem(s.At, "the step needs card: the name of a card of an earlier step")
	case s.Card != "" && !about:
		c.problem(s.At, "nothing is said about card %s: click, callback, status, outcome, decided_by or shows", s.Card)
	case s.Card != "":
		c.known(s.At, "card", s.Card, c.cards)
	}
	if s.DecidedBy != nil {
		for _, p := range *s.DecidedBy {
			c.known(s.At, "person", p, keysOf(c.file.People))
		}
	}
}

func (c *stepChecker) received(r Received) {
	known := c.known(r.At, "server", r.Server, keysOf(c.file.Servers))
	c.checkRequest(r.At, r.Request)
	c.checkAnswer(r.At, r.Status, r.JSON, r.Text)
	answered := slices.ContainsFunc(c.file.Servers[r.Server].Routes, func(to Route) bool {
		return to.Canonical() == Canonical(r.Request)
	})
	if known && !answered && !r.Answers() {
		c.problem(r.At, "nothing answers %s: give server %s a route for it, or status, json or text here", r.Request,
			r.Server)
	}
	var members map[string]json.RawMessage
	if r.Has != nil && json.Unmarshal(r.Has, &members) != nil {
		c.problem(r.At, "has is a mapping: members that the body must have")
	}
	if r.Body != nil && r.AnyBody || r.Body != nil && r.Has != nil || r.AnyBody && r.Has != nil {
		c.problem(r.At, "write one of body, has and any_body")
	}
}

func (c *stepChecker) newCard(card Card) {
	if !nameForm.MatchString(card.Name) {
		c.problem(card.At, badName, card.Name)
	}
	if slices.Contains(c.cards, card.Name) {
		c.problem(card.At, "a card called %q is there already", card.Name)
	}
	c.cards = append(c.cards, card.Name)
}

func (c *stepChecker) entry(e Entry) {
	if e.By != "" && e.By != "system" {
		c.known(e.At, "person", e.By, keysOf(c.file.People))
	}
	if e.Card != "" {
		c.known(e.At, "card", e.Card, c.cards)
	}
	if !strings.Contains(e.Action, ".") {
		c.problem(e.At, "%q is no action of the audit trail, such as decision.recorded", e.Action)
	}
}
