package bot

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

// slashCommand is the command in manifest.yaml.
const slashCommand = "/approvals"

// commandVerbs are the words that may follow the command.
var commandVerbs = []string{"mine", "all", "show", "grants", "revoke", "history", "help"}

// commandDelivery answers a slash command. Nothing has to be recorded, so it is acknowledged at once.
func (b *Bot) commandDelivery(c command) delivery {
	if c.SSLCheck == "1" {
		return delivery{}
	}
	handle := func(_ context.Context, id identity) (answer, error) {
		if !isUserID(c.User) {
			return answer{}, nil
		}
		return answer{then: func(ctx context.Context) { b.command(ctx, id, c) }}, nil
	}
	return delivery{what: "command", key: "command " + c.User, handle: b.checked(c.origin(), handle)}
}

// unknownCommand names what was typed, and the nearest of the commands that exist.
func unknownCommand(typed string, valid ...string) phrase {
	return wordsUnknownCommand(label(typed, 60), nearest(typed, valid))
}

func (b *Bot) command(ctx context.Context, id identity, c command) {
	by := approvals.NewUserID(id.workspace, c.User)
	words := strings.Fields(c.Text)
	if len(words) == 0 {
		words = []string{listMine}
	}
	verb, rest := strings.ToLower(words[0]), words[1:]
	if _, ok := parseRequestID(bareID(verb)); ok {
		verb, rest = "show", words // an id alone
	}
	switch verb {
	case "mine", "all", "history":
		b.respondList(ctx, c, by, words)
	case "show":
		b.respondShow(ctx, c, id, by, rest)
	case "grants":
		b.respondGrants(ctx, c, by, rest)
	case "revoke":
		b.respondRevoke(ctx, c, by, rest)
	case "help":
		b.respond(ctx, c, wordsCommandHelp(), nil)
	default:
		b.respond(ctx, c, unknownCommand(words[0], commandVerbs...), nil)
	}
}

// respondList answers with a list of requests, a line each.
func (b *Bot) respondList(ctx context.Context, c command, by approvals.UserID, words []string) {
	of, wrong := parseListing(words)
	if wrong != nil {
		b.respond(ctx, c, wrong, nil)
		return
	}
	title, blocks := b.listReply(ctx, by, of)
	b.respond(ctx, c, title, blocks)
}

// listReply renders a page of a list as a message to one person.
func (b *Bot) listReply(ctx context.Context, by approvals.UserID, of listing) (title phrase, blocks []slack.Block) {
	l, err := b.list(ctx, by, of)
	if err != nil {
		b.log.Error("requests could not be listed", "list", of.verb, "error", err)
		return listFailed(of), paragraphs(listFailed(of))
	}
	return l.reply(time.Now())
}

// turnList answers the buttons that turn the pages of a list, where the list stands.
func (b *Bot) turnList(_ context.Context, c click) (answer, error) {
	of, wrong := parseListing(strings.Fields(c.press.Value))
	if wrong != nil {
		return answer{}, nil // a button of another version
	}
	return answer{then: func(ctx context.Context) {
		switch {
		case c.View != nil && c.View.Type == "home" && !of.past():
			b.turnHome(ctx, c, of)
		case c.View != nil:
			b.openModal(ctx, c, func(ctx context.Context) (slack.ModalViewRequest, error) {
				return b.listView(ctx, c.by, of)
			})
		default:
			title, blocks := b.listReply(ctx, c.by, of)
			next := hookMessage{Text: title.fallback(), Blocks: blocks, ReplaceOriginal: true}
			if err := b.showAlone(ctx, c.ResponseURL, next, c.channel(), c.thread(), c.User.ID, title); err != nil {
				b.log.Warn("a list could not be turned", "user", c.User.ID, "error", err)
			}
		}
	}}, nil
}

// respond answers a command, for the eyes of the person who gave it: where the command was given, or in their
// conversation with the bot where nothing can be said there.
func (b *Bot) respond(ctx context.Context, c command, p phrase, blocks []slack.Block) {
	if blocks == nil {
		blocks = paragraphs(p)
	}
	said := hookMessage{Text: p.fallback(), Blocks: blocks}
	if err := b.showAlone(ctx, c.ResponseURL, said, c.Channel, "", c.User, p); err != nil {
		b.log.Warn("a command could not be answered", "user", c.User, "error", err)
	}
}

// showAlone shows a message to a person alone: by the response URL of what they did or, where that is of no use, as a
// message in the conversation, or else in theirs with the bot.
func (b *Bot) showAlone(
	ctx context.Context, to secretURL, said hookMessage, channel, thread, user string, p phrase,
) error {
	hooked := b.hooks.send(ctx, to, said)
	if hooked == nil {
		return nil
	}
	err := b.ephemeral(ctx, channel, thread, user, p, said.Blocks)
	if err == nil {
		return nil
	}
	if direct := b.directly(ctx, user, p, said.Blocks); direct != nil {
		return errors.Join(hooked, err, direct)
	}
	return nil
}
