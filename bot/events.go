package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"countersign/approvals"
)

// decodeEvent reads an event. Redeliveries are handled like first deliveries: the service knows what it has seen.
func (b *Bot) decodeEvent(payload json.RawMessage) (delivery, error) {
	var p eventPayload
	if err := decode(payload, &p); err != nil {
		return delivery{}, err
	}
	switch {
	case p.Type == "app_rate_limited":
		b.log.Error("Slack holds back events: more than 30,000 in an hour")
		return delivery{}, nil
	case p.Type != "event_callback":
		return delivery{}, fmt.Errorf("event of an unknown type: %w", errUnreadable)
	}
	d := delivery{
		what: "event " + label(p.Event.Type, 40),
		key:  "event " + p.Event.Channel + " " + place(p.Event).Thread,
	}
	switch p.Event.Type {
	case "app_mention", "message":
		d.handle = b.checked(p.origin(), func(ctx context.Context, id identity) (answer, error) {
			return b.message(ctx, id, p)
		})
	case "channel_shared":
		d.handle = b.checked(p.origin(), func(ctx context.Context, id identity) (answer, error) {
			return b.channelShared(ctx, id, p.Event.Channel)
		})
	case "app_home_opened":
		d.handle = b.checked(p.origin(), func(_ context.Context, id identity) (answer, error) {
			return b.homeOpened(id, p.Event)
		})
	case "assistant_thread_started":
		d.key = "event " + p.Event.Assistant.Channel + " " + p.Event.Assistant.Thread
		d.handle = b.checked(p.origin(), func(_ context.Context, id identity) (answer, error) {
			return b.chatOpened(id, p.Event)
		})
	case "assistant_thread_context_changed": // an app with a panel has to hear it; what is proposed stays the same
	case "agent_session_stopped":
		d.handle = b.checked(p.origin(), func(ctx context.Context, id identity) (answer, error) {
			return b.sessionStopped(ctx, id, p.Event)
		})
	case "app_uninstalled", "tokens_revoked":
		d.handle = b.checked(p.origin(), func(_ context.Context, id identity) (answer, error) {
			return b.removed(id, p.Event)
		})
	}
	return d, nil
}

// removed stops the bot when its token is gone.
func (b *Bot) removed(id identity, e event) (answer, error) {
	if e.Type == "tokens_revoked" && !slices.Contains(e.Tokens.Bot, id.botUser) {
		return answer{}, nil
	}
	b.log.Error("the app was removed from the workspace or its token revoked; stopping", "event", e.Type)
	return answer{then: func(context.Context) { b.end(ErrUninstalled) }}, nil
}

// message hands a mention or a direct message to the service.
func (b *Bot) message(ctx context.Context, id identity, p eventPayload) (answer, error) {
	e := p.Event
	if e.Subtype == "message_changed" && isDirect(e) {
		return b.directEdit(p)
	}
	if !spoken(e, id) {
		if p.Shared || mentioned(e.Text, id.botUser) {
			return answer{}, nil // of a mention, Slack tells once more
		}
		return b.overheard(id, e), nil
	}
	if !isChannelID(e.Channel) || !isMessageTS(e.TS) ||
		e.ThreadTS != "" && !isMessageTS(e.ThreadTS) {
		b.log.Warn("a message was dropped", "reason", errUnreadable)
		return answer{}, nil
	}
	at := place(e)
	asker := approvals.NewUserID(id.workspace, e.User)
	tell := func(p phrase) answer { // in the thread only where there is one: else nobody would see it
		return answer{then: func(ctx context.Context) { b.whisper(ctx, at.Channel, e.ThreadTS, e.User, p) }}
	}
	if p.Shared {
		return tell(wordsSharedChannel()), nil
	}
	text := withoutMention(e.Text, id.botUser)
	attached := files(e.Files)
	if text == "" {
		return tell(append(fileHelp(attached), wordsMentionHelp()...)), nil
	}
	// Slack delivers a mention again that is not acknowledged in time; clicks it does not.
	got, err := b.service.Submit(approvals.WithoutHurry(ctx), approvals.Submission{
		Workspace: id.workspace, Place: at, Requester: asker, Agent: b.agent, Text: text, Message: e.TS,
		State: b.stateMessage(id, e.TS), Files: attached,
		Keys: []string{"event:" + p.EventID, "message:" + e.Channel + ":" + e.TS},
	})
	switch {
	case err != nil:
		words, known := refusedSubmission(err)
		if !known {
			return answer{}, fmt.Errorf("submit: %w", err)
		}
		return tell(words), nil
	case !heeded(p, got):
		return tell(wordsEditNotRead()), nil
	case got.Outcome == approvals.SubmitQueued:
		return answer{then: func(ctx context.Context) {
			b.whisper(ctx, at.Channel, e.ThreadTS, e.User, b.queued(ctx, got, asker))
		}}, nil
	}
	return answer{then: b.nameChat(id, at, text)}, nil
}

// spoken reports whether a person said something to the bot.
func spoken(e event, id identity) bool {
	if e.BotID != "" || e.User == "" || e.User == id.botUser || e.User == "USLACKBOT" {
		return false
	}
	switch e.Subtype {
	case "", "file_share", "thread_broadcast":
	default:
		return false // edits, joins and the like
	}
	return e.Type == "app_mention" || isDirect(e) || e.ChannelType == "mpim" && mentioned(e.Text, id.botUser)
}

// mentioned reports whether the text mentions the bot. Of a mention in a group direct message some apps get app_mention
// (https://github.com/slackapi/bolt-js/issues/817) and others only the message
// (https://github.com/lidge-jun/cli-jaw/issues/651): whichever comes, or both, it is taken once.
func mentioned(text, botUser string) bool {
	for _, m := range mention.FindAllStringSubmatch(text, -1) {
		if m[1] == botUser {
			return true
		}
	}
	return false
}

// isDirect reports whether the event is of a conversation between one person and the bot; ids beginning with D are of
// those, also where the type is not said.
func isDirect(e event) bool {
	return e.ChannelType == "im" || e.ChannelType == "" && strings.HasPrefix(e.Channel, "D")
}

// place is the thread that the message is in, or begins.
func place(e event) approvals.Place {
	thread := e.ThreadTS
	if thread == "" {
		thread = e.TS
	}
	return approvals.Place{Surface: "slack", Channel: e.Channel, Thread: thread, Direct: isDirect(e)}
}

var (
	mention   = regexp.MustCompile(`<@([UW][A-Z0-9]+)(?:\|[^>]*)?>`)
	hyperlink = regexp.MustCompile(`<((?:https?|mailto):[^|>]+)(?:\|([^>]*))?>`)
)

// withoutMention returns what the person typed: without the bot's mention, links as they were written, and without
// Slack's escapes.
func withoutMention(text, botUser string) string {
	text = mention.ReplaceAllStringFunc(text, func(m string) string {
		if mention.FindStringSubmatch(m)[1] == botUser {
			return ""
		}
		return m
	})
	text = hyperlink.ReplaceAllStringFunc(text, func(m string) string {
		parts := hyperlink.FindStringSubmatch(m)
		address, shown := parts[1], parts[2]
		bare := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(address, "mailto:"), "https://"), "http://")
		switch shown {
		case "", address:
			return address
		case bare, strings.TrimSuffix(bare, "/"):
			return shown
		}
		return shown + " (" + address + ")"
	})
	return strings.TrimSpace(unescape(text))
}
