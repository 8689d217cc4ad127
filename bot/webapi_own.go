package bot

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// own lists the bot's own messages in a thread, or in a conversation when thread is empty, that are not older than
// since. Where Slack sends the call for a page away, the next attempt goes on with that page: of some apps it takes one
// call a minute, and gives 15 messages (https://docs.slack.dev/apis/web-api/rate-limits), so that whoever began anew
// would never come to the end.
func (c *Client) own(ctx context.Context, channel, thread string, since time.Time) ([]postedMessage, error) {
	const mostPages = 20
	id, err := c.identify(ctx)
	if err != nil {
		return nil, err
	}
	form := url.Values{
		"channel": {channel}, "include_all_metadata": {"true"}, "limit": {"200"},
		"oldest": {strconv.FormatInt(since.Unix(), 10) + ".000000"},
	}
	method := methodHistory
	if thread != "" {
		method = methodReplies
		form.Set("ts", thread)
	}
	what := method + " " + form.Encode()
	begun := c.readings.take(what)
	found := begun.found
	if begun.cursor != "" {
		form.Set("cursor", begun.cursor)
	}
	for range mostPages {
		var page struct {
			Messages []postedMessage `json:"messages"`
			Metadata struct {
				NextCursor string `json:"next_cursor"`
			} `json:"response_metadata"`
		}
		if _, err := c.call(ctx, method, c.token, form, &page); err != nil {
			switch word, refused := refusal(err); {
			case word == "invalid_cursor": // no word about the place: the next attempt begins anew
				return nil, fmt.Errorf("call %s: Slack has forgotten where to go on", method)
			case !refused && form.Has("cursor"):
				c.readings.put(what, reading{found, form.Get("cursor"), time.Now()})
			}
			return nil, err
		}
		for _, m := range page.Messages {
			if m.User == id.botUser || m.BotID != "" && m.BotID == id.botID {
				found = append(found, m)
			}
		}
		if page.Metadata.NextCursor == "" {
			return found, nil
		}
		form.Set("cursor", page.Metadata.NextCursor)
	}
	return found, nil
}

// reading is how far the messages of a conversation have been looked through.
type reading struct {
	found  []postedMessage
	cursor string // of the next page; empty: it is to begin
	at     time.Time
}

// readings are those that came to no end, by what was asked. The zero value is ready.
type readings struct {
	mu sync.Mutex
	of map[string]reading
}

const (
	mostReadings = 100
	readingAge   = 15 * time.Minute // after which it is begun anew
)

func (r *readings) put(what string, how reading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil || len(r.of) >= mostReadings {
		r.of = map[string]reading{}
	}
	r.of[what] = how
}

// take returns how far a reading has come, and forgets it.
func (r *readings) take(what string) reading {
	r.mu.Lock()
	defer r.mu.Unlock()
	how := r.of[what]
	delete(r.of, what)
	if time.Since(how.at) > readingAge {
		return reading{}
	}
	return how
}
