package bot

import (
	"fmt"
	"strings"
	"time"

	"github.com/slack-go/slack"
)

// noTime is the zero time: an answer that was kept will do.
var noTime time.Time

// richPart is a part of a phrase that knows how it is shown.
type richPart interface {
	fmt.Stringer
	element() slack.RichTextSectionElement
}

// channelRef names a channel, to those who may know of it.
type channelRef string

func (c channelRef) element() slack.RichTextSectionElement {
	return slack.NewRichTextSectionChannelElement(string(c), nil)
}
func (c channelRef) String() string { return "a channel" }

// hyperlinkTo leads somewhere. Nothing in it comes from people or models.
type hyperlinkTo struct{ address, text string }

func (l hyperlinkTo) element() slack.RichTextSectionElement {
	return slack.NewRichTextSectionLinkElement(l.address, l.text, nil)
}
func (l hyperlinkTo) String() string { return l.text }

// permalink is the address of a message, as chat.getPermalink returns it: of a reply, with its thread. See
// https://docs.slack.dev/reference/methods/chat.getPermalink.
func permalink(workspace, channel, ts, thread string) string {
	link := strings.TrimSuffix(workspace, "/") + "/archives/" + channel + "/p" + strings.ReplaceAll(ts, ".", "")
	if thread != "" && thread != ts {
		link += "?thread_ts=" + thread + "&cid=" + channel
	}
	return link
}
