package bot

import (
	"context"
	"errors"
	"strings"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

// slashCommand is the command in manifest.yaml.
const slashCommand = "/approvals"

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

func (b *Bot) command(ctx context.Context, id identity, c command) {
	by := approvals.NewUserID(id.workspace, c.User)
	words := strings.Fields(c.Text)
	verb := "mine"
	if len(words) > 0 {
		verb, words = strings.ToLower(words[0]), words[1:]
	}
	switch verb {
	case "mine", "all":
		b.respondList(ctx, c, id, by, verb, words)
	case "show":
		b.respondShow(ctx, c, id, by, words)
	case "grants":
		b.respondGrants(ctx, c, by, words)
	case "revoke":
		b.respondRevoke(ctx, c, by, words)
	case "history":
		b.respondHistory(ctx, c, by, words)
	case "help":
		b.respond(ctx, c, commandHelp(), nil)
	default:
		b.respond(ctx, c, append(phrase{"I do not know ", code(label(verb, 40)), ". "}, commandHelp()...), nil)
	}
}

func commandHelp() phrase {
	return phrase{
		code(slashCommand), " or ", code(slashCommand + " mine"), ": what you may decide or asked for\n",
		code(slashCommand + " all"), ": everything that waits and that you may see\n",
		code(slashCommand + " show ID"), ": one request in full\n",
		code(slashCommand + " history"), ": decided ones that you asked for or answered; ", code("history all"),
		": all that you may see\n",
		code(slashCommand + " grants"), ": answers for later calls too, with how they stand\n",
		code(slashCommand + " revoke ID"), ": end one of them; a reason may follow\n",
		code(slashCommand + " help"), ": this",
	}
}

// respondList answers "mine" and "all", with "after ID" from there on.
func (b *Bot) respondList(
	ctx context.Context, c command, id identity, by approvals.UserID, verb string, rest []string,
) {
	of := listing{verb: verb}
	if len(rest) == 2 && rest[0] == "after" {
		after, ok := parseRequestID(rest[1])
		if !ok {
			b.respond(ctx, c, phrase{"That is no id of a request: ", code(label(rest[1], 60))}, nil)
			return
		}
		of.after = after
	} else if len(rest) > 0 {
		b.respond(ctx, c, commandHelp(), nil)
		return
	}
	title, blocks, err := b.listReply(ctx, id, by, of)
	if err != nil {
		b.log.Error("pending requests could not be listed", "error", err)
		b.respond(ctx, c, listFailed(), nil)
		return
	}
	b.respond(ctx, c, title, blocks)
}

func moreBy(verb string, after approvals.RequestID) phrase {
	return phrase{"There are more: ", code(slashCommand + " " + verb + " after " + string(after))}
}

// nothingYet is for somebody whose requests may stand behind very many of others.
func nothingYet(verb string, after approvals.RequestID) phrase {
	none := phrase{"Very many requests wait, and among the first of them is none for you. "}
	return append(none, moreBy(verb, after)...)
}

func listFailed() phrase {
	return phrase{"I cannot read the pending requests right now. Please try again in a minute."}
}

// respondShow answers "show ID" with the request's card, for this person alone.
func (b *Bot) respondShow(ctx context.Context, c command, id identity, by approvals.UserID, rest []string) {
	if len(rest) != 1 {
		b.respond(ctx, c, commandHelp(), nil)
		return
	}
	request, ok := parseRequestID(rest[0])
	if !ok {
		b.respond(ctx, c, phrase{"That is no id of a request: ", code(label(rest[0], 60))}, nil)
		return
	}
	r, err := b.visibleRequest(ctx, id.workspace, request, by)
	switch {
	case errors.Is(err, approvals.ErrNotFound), errors.Is(err, approvals.ErrUnauthorized):
		b.respond(ctx, c, phrase{"There is no request ", code(string(request)), " that you may see."}, nil)
	case err != nil:
		b.log.Error("a request could not be shown", "request", request, "error", err)
		b.respond(ctx, c, phrase{"I cannot show that right now. Please try again in a minute."}, nil)
	default:
		b.inform(ctx, r)
		shown := newCard(r)
		b.respond(ctx, c, shown.text, within(b.rights(ctx, r, by), shown.blocks))
	}
}

// within leaves of a card's buttons those that show something and those that the viewer may press.
func within(can rights, blocks []slack.Block) []slack.Block {
	if can.decide {
		return blocks
	}
	var out []slack.Block
	for _, block := range blocks {
		row, ok := block.(*slack.ActionBlock)
		if !ok {
			out = append(out, block)
			continue
		}
		var kept []slack.BlockElement
		for _, element := range row.Elements.ElementSet {
			e, ok := element.(*slack.ButtonBlockElement)
			if ok && e.ActionID == string(actDetails) {
				kept = append(kept, element)
			} else if cancel := onlyCancel(element); can.cancel && cancel != nil {
				kept = append(kept, cancel)
			}
		}
		if len(kept) > 0 {
			out = append(out, slack.NewActionBlock(row.BlockID, kept...))
		}
	}
	return out
}

// respond answers a command, for the eyes of the person who gave it.
func (b *Bot) respond(ctx context.Context, c command, p phrase, blocks []slack.Block) {
	if blocks == nil {
		blocks = paragraphs(p)
	}
	hooked := b.hooks.send(ctx, c.ResponseURL, hookMessage{Text: p.fallback(), Blocks: blocks})
	if hooked == nil {
		return
	}
	if err := b.ephemeral(ctx, c.Channel, "", c.User, p, blocks); err != nil {
		b.log.Warn("a command could not be answered", "user", c.User, "error", errors.Join(hooked, err))
	}
}
