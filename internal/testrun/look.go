package testrun

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"countersign/agent/rawtool"
	"countersign/approvals"
	"countersign/internal/slackdev"
	"countersign/internal/testfile"
)

// look compares everything that the step expects with what there is. It returns what is missing; when nothing is, what
// was found counts as dealt with.
func (p *play) look(ctx context.Context) (missing []Failure, err error) {
	note := func(f []Failure, e error) {
		missing = append(missing, f...)
		if err == nil {
			err = e
		}
	}
	found, f, e := p.newCards(ctx)
	note(f, e)
	said, f := p.saidNow()
	note(f, nil)
	told, f := p.toldNow()
	note(f, nil)
	note(p.card(ctx))
	note(p.stubs(), nil)
	note(p.trailNow(ctx))
	note(p.files(), nil)
	note(p.command(), nil)
	if err != nil || len(missing) > 0 {
		return missing, err
	}
	for name, id := range found {
		p.requests[name], p.ofCard[id] = id, true
	}
	for _, m := range append(said, told...) {
		p.seen[m.Channel+m.TS] = true
	}
	return nil, nil
}

// newCards finds a request for each card that the step expects.
func (p *play) newCards(ctx context.Context) (map[string]approvals.RequestID, []Failure, error) {
	if len(p.step.Cards) == 0 {
		return nil, nil, nil
	}
	var fresh []*approvals.Request
	for _, id := range p.unnamed() {
		r, err := p.request(ctx, id)
		if err != nil {
			return nil, nil, err
		}
		fresh = append(fresh, r)
	}
	found := make(map[string]approvals.RequestID)
	var missing []Failure
	for _, want := range p.step.Cards {
		got := "no new card"
		i := slices.IndexFunc(fresh, func(r *approvals.Request) bool {
			differs := p.cardDiffers(&want, r)
			if differs != "" {
				got = differs
			}
			return differs == ""
		})
		if i < 0 {
			missing = append(missing, Failure{At: want.At, Step: p.name, What: "card " + want.Name,
				Expected: cardWanted(&want), Got: got})
			continue
		}
		found[want.Name] = fresh[i].ID
		fresh = slices.Delete(fresh, i, i+1)
	}
	return found, missing, nil
}

// unnamed are the requests that have a card and no name yet, the first one first.
func (p *play) unnamed() (ids []approvals.RequestID) {
	for _, m := range p.messages() {
		if id := requestOf(m); id != "" && !p.ofCard[id] && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func cardWanted(c *testfile.Card) string {
	text := c.Tool
	if c.Args != nil {
		text += " " + string(c.Args)
	}
	if c.Agent != "" {
		text += " by agent " + c.Agent
	}
	return text
}

// cardDiffers says what the store or the workspace has instead of the card, or "".
func (p *play) cardDiffers(want *testfile.Card, r *approvals.Request) string {
	got := fmt.Sprintf("%s %s by agent %s", r.Tool.Name, r.Shown(), r.Agent)
	switch {
	case r.Tool.Name != want.Tool, want.Agent != "" && r.Agent != want.Agent,
		want.Args != nil && !calledWith(r, want.Args):
		return got
	}
	return p.textDiffers(r.ID, append([]string{want.Tool}, want.Shows...), want.Hides)
}

// calledWith reports whether the call of r has the arguments. Where some are secret, nobody is given them, and the
// call's digest tells.
func calledWith(r *approvals.Request, arguments []byte) bool {
	if !r.Masked {
		return sameJSON(arguments, r.Arguments)
	}
	canonical, err := rawtool.Canonical(arguments)
	return err == nil && r.Definition.Call(canonical, r.Facts...) == r.Digest
}

// textDiffers says what the copies of a card lack, or show though they must not, or "".
func (p *play) textDiffers(id approvals.RequestID, shows, hides []string) string {
	copies := p.copies(id)
	if len(copies) == 0 {
		return "no card: it is in the store, and nobody sees it"
	}
	for _, m := range copies {
		text := p.shown(m)
		for _, want := range shows {
			if !strings.Contains(text, want) {
				return fmt.Sprintf("a card without %q:\n%s", want, text)
			}
		}
		for _, bad := range hides {
			if strings.Contains(text, bad) || strings.Contains(m.Text, bad) {
				return fmt.Sprintf("a card that shows %q:\n%s", bad, text)
			}
		}
	}
	return ""
}

// saidNow finds a new message of the bot for each text that it must say.
func (p *play) saidNow() (found []slackdev.Message, missing []Failure) {
	fresh := p.fresh()
	return p.match(fresh, p.step.Says, "what the bot says")
}

// fresh are messages of the bot that show no request and that no step has dealt with.
func (p *play) fresh() []slackdev.Message {
	return slices.DeleteFunc(p.messages(), func(m slackdev.Message) bool {
		return !p.ofBot(m) || requestOf(m) != "" || p.seen[m.Channel+m.TS]
	})
}

// toldNow does the same for what only one person sees: messages, and what a form that was sent became.
func (p *play) toldNow() (found []slackdev.Message, missing []Failure) {
	if p.step.By == "" {
		return nil, nil
	}
	told := p.freshFor(p.step.By)
	for _, v := range p.workspace.Views(p.file.People[p.step.By].ID) {
		if v.ID == p.sent {
			told = append(told, slackdev.Message{TS: v.ID, Blocks: v.Blocks})
		}
	}
	return p.match(told, p.step.Told, "what "+p.step.By+" alone is told")
}

func (p *play) freshFor(person string) []slackdev.Message {
	return slices.DeleteFunc(p.workspace.Ephemerals(p.file.People[person].ID), func(m slackdev.Message) bool {
		return p.seen[m.Channel+m.TS]
	})
}

// match finds a message of its own for each text.
func (p *play) match(fresh []slackdev.Message, texts []string, what string) (
	found []slackdev.Message, missing []Failure,
) {
	for _, want := range texts {
		i := slices.IndexFunc(fresh, func(m slackdev.Message) bool {
			return strings.Contains(p.shown(m), p.expand(want))
		})
		if i < 0 {
			missing = append(missing, p.failure(what, quote(want), p.list(fresh)))
			continue
		}
		found = append(found, fresh[i])
		fresh = slices.Delete(fresh, i, i+1)
	}
	return found, missing
}

func (p *play) list(messages []slackdev.Message) string {
	var texts []string
	for _, m := range messages {
		texts = append(texts, quote(p.shown(m)))
	}
	if texts == nil {
		return "nothing"
	}
	return strings.Join(texts, ", ")
}

// stubs are the requests that servers still miss.
func (p *play) stubs() (missing []Failure) {
	for _, r := range p.receipts.left() {
		text := r.Request
		if r.Body != nil {
			text += " " + string(r.Body)
		}
		missing = append(missing, Failure{At: r.At, Step: p.name, What: "what server " + r.Server + " receives",
			Expected: text, Got: "nothing like it"})
	}
	return missing
}

// files compares the folder that agents work in.
func (p *play) files() (missing []Failure) {
	for name, want := range p.step.Files {
		data, err := os.ReadFile(filepath.Join(p.workdir(), filepath.FromSlash(name)))
		switch {
		case err != nil:
			missing = append(missing, p.failure("file "+name, quote(want), "no such file"))
		case string(data) != want:
			missing = append(missing, p.failure("file "+name, quote(want), quote(string(data))))
		}
	}
	return missing
}

// command compares what a command of the program did.
func (p *play) command() (missing []Failure) {
	if len(p.step.CLI) == 0 {
		return nil
	}
	if p.exit != p.step.Exit {
		missing = append(missing, p.failure("the exit code", fmt.Sprint(p.step.Exit),
			fmt.Sprintf("%d: %s", p.exit, p.output)))
	}
	for _, want := range p.step.Prints {
		if !strings.Contains(p.output, p.expand(want)) {
			missing = append(missing, p.failure("what the command prints", quote(want), quote(p.output)))
		}
	}
	return missing
}

// surplus is what there is and no step expects. What comes later is found by a later step, or at the end.
func (p *play) surplus() (failures []Failure) {
	for _, id := range p.unnamed() {
		m := p.copies(id)[0]
		failures = append(failures, p.failure("the cards", "no other card",
			"a card that no step expects:\n"+p.shown(m)))
	}
	for _, m := range p.fresh() {
		failures = append(failures, p.failure("what the bot says", "nothing else", quote(p.shown(m))))
	}
	for name := range p.file.People {
		for _, m := range p.freshFor(name) {
			failures = append(failures, p.failure("what "+name+" alone is told", "nothing else", quote(p.shown(m))))
		}
	}
	return failures
}
