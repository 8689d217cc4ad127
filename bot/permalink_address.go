package bot

import (
	"strings"
	"time"
)

// noTime is the zero time: an answer that was kept will do.
var noTime time.Time

// permalink is the address of a message, as chat.getPermalink returns it: of a reply, with its thread. See
// https://docs.slack.dev/reference/methods/chat.getPermalink.
func permalink(workspace, channel, ts, thread string) string {
	link := strings.TrimSuffix(workspace, "/") + "/archives/" + channel + "/p" + strings.ReplaceAll(ts, ".", "")
	if thread != "" && thread != ts {
		link += "?thread_ts=" + thread + "&cid=" + channel
	}
	return link
}
