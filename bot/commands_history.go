package bot

import (
	"context"
	"fmt"
	"strings"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

// historyPage is how many requests the history shows at once.
const historyPage = 15

// respondHistory answers "history", "history mine" and "history all", with "after ID" from there on: requests that wait
// no longer, the newest first.
func (b *Bot) respondHistory(ctx context.Context, c command, by approvals.UserID, rest []string) {
	q := approvals.HistoryQuery{Workspace: by.Workspace(), Viewer: by, Mine: true, Limit: historyPage}
	verb := "history mine"
	if len(rest) > 0 {
		switch which := strings.ToLower(rest[0]); which {
		case "mine", "all":
			verb, q.Mine, rest = "history "+which, which == "mine", rest[1:]
		}
	}
	switch {
	case len(rest) == 0:
	case len(rest) == 2 && rest[0] == "after":
		after, ok := parseRequestID(rest[1])
		if !ok {
			b.respond(ctx, c, phrase{"That is no id of a request: ", code(label(rest[1], 60))}, nil)
			return
		}
		q.After = after
	default:
		b.respond(ctx, c, commandHelp(), nil)
		return
	}
	page, err := b.service.History(ctx, q)
	if err != nil {
		b.log.Error("the history could not be listed", "error", err)
		b.respond(ctx, c, phrase{"I cannot read the history right now. Please try again in a minute."}, nil)
		return
	}
	title, blocks := historyReply(page, verb, q.After)
	b.respond(ctx, c, title, blocks)
}

// historyReply renders a page of the history, as much of it as fits.
func historyReply(page approvals.HistoryPage, verb string, after approvals.RequestID) (phrase, []slack.Block) {
	l := list{more: page.Next, unjudged: page.Unjudged}
	for i, head := range page.Requests {
		item := paragraph(historyLines(head)...)
		if i > 0 && !fitsReply(append(l.blocks[:len(l.blocks):len(l.blocks)], item)) {
			l.more = page.Requests[i-1].ID
			break
		}
		l.blocks = append(l.blocks, item)
		l.shown++
	}
	title := l.historyTitle(verb, after)
	return title, append(paragraphs(title), l.blocks...)
}

// historyTitle says what a page of the history shows, and what it does not.
func (l *list) historyTitle(verb string, after approvals.RequestID) phrase {
	var title phrase
	switch {
	case l.shown == 0 && l.more != "" && after != "":
		title = phrase{"Very many requests were decided, and among those that come next is none for you. "}
	case l.shown == 0 && l.more != "":
		title = phrase{"Very many requests were decided, and among the newest of them is none for you. "}
	case l.shown == 0 && l.unjudged > 0:
		title = phrase{"Nothing that I am sure you may see. "}
	case l.shown == 0 && after != "":
		return phrase{"Nothing older."}
	case l.shown == 0 && verb == "history mine":
		return phrase{"Nothing that you asked for or answered was decided yet. ",
			code(slashCommand + " history all"), " lists what others did, as far as you may see it."}
	case l.shown == 0:
		return phrase{"Nothing was decided yet that you may see."}
	case l.more != "":
		title = phrase{fmt.Sprintf("%d decided, the newest first. ", l.shown)}
	default:
		title = phrase{fmt.Sprintf("%d decided, the newest first", l.shown)}
	}
	if l.more != "" {
		title = append(title, moreBy(verb, l.more)...)
	}
	if left := l.leftOut(); left != "" {
		title = append(title, ". "+left)
	}
	return title
}

// historyLines says of a request both facts, what people decided and what became of the call, with who, where and when.
func historyLines(head *approvals.RequestHead) []phrase {
	r := &approvals.Request{RequestHead: *head}
	facts := outcome(r)
	if word := callWord(r); word != "" {
		facts = append(facts, " · ", strong(word))
	}
	return []phrase{
		facts, {code(string(r.ID)), " asked for by ", r.Requester, " in ", channelName(r.Place), ", ", r.Settled},
	}
}

// callWord says in a word what became of the call of a request that waits no longer; empty where nothing was to run.
func callWord(r *approvals.Request) string {
	switch {
	case r.IsQuestion():
		return ""
	case r.Outcome == approvals.OutcomeNone && r.Status == approvals.RequestApproved:
		return "waits for its turn"
	}
	return label(string(r.Outcome), 40)
}
