package testrun

import (
	"context"
	"errors"
	"os/exec"
	"regexp"
	"strings"

	"countersign/internal/slackdev"
	"countersign/internal/testfile"
)

// act does what the step does.
func (p *play) act(ctx context.Context) ([]Failure, error) {
	s := p.step
	if s.Thread != "" {
		p.thread = p.threads[s.Thread]
	}
	switch {
	case s.Mention != "":
		return p.post(ctx, "<@"+p.workspace.Config().App.BotUserID+"> "+p.wire(s.Mention)), nil
	case s.Message != "":
		return p.post(ctx, p.wire(s.Message)), nil
	case s.Click != "":
		return p.click(ctx)
	case s.Command != "":
		command, text, _ := strings.Cut(p.expand(s.Command), " ")
		return p.trouble(p.workspace.Command(ctx, p.file.People[s.By].ID, p.place(), command, text)), nil
	case len(s.CLI) > 0:
		return nil, p.runCLI(ctx)
	case s.Restart != "":
		return p.restart(ctx)
	case s.Callback != nil:
		return p.callback(ctx)
	case s.Change != nil:
		p.change(s.Change)
	}
	return nil, nil
}

// trouble is what a person sees instead of what they wanted.
func (p *play) trouble(err error) []Failure {
	if err == nil {
		return nil
	}
	return []Failure{p.failure(p.step.By, "to be able to do this", err.Error())}
}

// place is the channel, or the direct message with the person.
func (p *play) place() string {
	if p.step.In == "direct" {
		return p.workspace.DM(p.file.People[p.step.By].ID)
	}
	return p.file.Channels[p.step.In].ID
}

// post writes a message, which begins a thread or goes on with one.
func (p *play) post(ctx context.Context, text string) []Failure {
	s := p.step
	known := p.threads[s.Thread]
	if s.Thread == "" || known == nil {
		ts, err := p.workspace.Post(ctx, p.file.People[s.By].ID, p.place(), text, "")
		p.thread = &thread{channel: p.place(), ts: ts}
		if s.Thread != "" {
			p.threads[s.Thread] = p.thread
		}
		return p.trouble(err)
	}
	_, err := p.workspace.Post(ctx, p.file.People[s.By].ID, known.channel, text, known.ts)
	return p.trouble(err)
}

var (
	atName      = regexp.MustCompile(`@([A-Za-z][A-Za-z0-9_-]*)`)
	placeholder = regexp.MustCompile(`\$\{(request|user|channel)\.([A-Za-z0-9_-]+)\}`)
)

// wire is a person's text as Slack sends it: @name of somebody here is a mention.
func (p *play) wire(text string) string {
	text = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(p.expand(text))
	return atName.ReplaceAllStringFunc(text, func(s string) string {
		if person, ok := p.file.People[s[1:]]; ok {
			return "<@" + person.ID + ">"
		}
		return s
	})
}

// expand puts in the ids of requests, people and channels.
func (p *play) expand(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(s string) string {
		m, id := placeholder.FindStringSubmatch(s), ""
		switch m[1] {
		case "request":
			id = string(p.requests[m[2]])
		case "user":
			id = p.file.People[m[2]].ID
		case "channel":
			id = p.file.Channels[m[2]].ID
		}
		if id == "" {
			return s
		}
		return id
	})
}

// runCLI runs a command of the program to its end.
func (p *play) runCLI(ctx context.Context) error {
	args := make([]string, len(p.step.CLI))
	for i, a := range p.step.CLI {
		args[i] = p.expand(a)
	}
	out, err := p.program().Run(ctx, args...)
	p.output = out
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Exited() {
		p.exit, p.output = exit.ExitCode(), err.Error()
		return nil
	}
	return err
}

// restart ends the bot, and starts it again once its connections are gone.
func (p *play) restart(ctx context.Context) ([]Failure, error) {
	if p.step.Restart == "kill" {
		p.bot.Kill()
	} else if err := p.bot.Stop(); err != nil {
		return []Failure{p.failure("the bot", "to stop in order", err.Error())}, nil
	}
	gone := func() bool { return p.workspace.Connections() == 0 }
	if err := p.workspace.WaitFor(ctx, gone); err != nil {
		return nil, err
	}
	return nil, p.startBot(ctx)
}

// change changes people, groups and channels.
func (p *play) change(c *testfile.Change) {
	for name, person := range c.People {
		p.workspace.SetUser(user(name, person))
	}
	for name, group := range c.Groups {
		p.workspace.SetUserGroup(p.group(name, group))
	}
	for name, channel := range c.Channels {
		p.workspace.SetChannel(p.channel(name, channel))
	}
}

// spoken is a text of the workspace with people as @name.
func (p *play) spoken(text string) string {
	text = strings.ReplaceAll(text, "<@"+p.workspace.Config().App.BotUserID+">", "@countersign")
	for name, person := range p.file.People {
		text = strings.ReplaceAll(text, "<@"+person.ID+">", "@"+name)
	}
	for name, channel := range p.file.Channels {
		text = strings.ReplaceAll(text, "<#"+channel.ID+">", "#"+name)
	}
	for name, group := range p.file.Groups {
		text = strings.ReplaceAll(text, "<!subteam^"+group.ID+">", "@"+name)
	}
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(text)
}

// shown is what readers of a message see.
func (p *play) shown(m slackdev.Message) string { return p.spoken(m.Shown()) }
