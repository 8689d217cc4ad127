package bot

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// own lists the bot's own messages in a thread, or in a conversation when thread is empty, that are not older than
// since. See readings.
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
	found := c.ownRead.resume(what, form)
	for range mostPages {
		var page struct {
			Messages []postedMessage `json:"messages"`
			Metadata struct {
				NextCursor string `json:"next_cursor"`
			} `json:"response_metadata"`
		}
		if _, err := c.call(ctx, method, c.token, form, &page); err != nil {
			return nil, c.ownRead.broken(what, found, form, err)
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

// readings are those of messages that came to no end, by what was asked: where Slack sends the call for a page away,
// the next attempt goes on with that page. Of some apps Slack takes one such call a minute, and gives 15 messages
// (https://docs.slack.dev/apis/web-api/rate-limits): whoever began anew would never come to the end. The zero value is
// ready.
type readings[M any] struct {
	mu sync.Mutex
	of map[string]reading[M]
}

// reading is what was found so far, and the cursor of the next page.
type reading[M any] struct {
	found  []M
	cursor string
	at     time.Time
}

const (
	mostReadings = 100
	readingAge   = 15 * time.Minute // after which it is begun anew
)

// resume has the form ask for where the reading has come to, which is forgotten, and returns what was found.
func (r *readings[M]) resume(what string, form url.Values) []M {
	r.mu.Lock()
	defer r.mu.Unlock()
	how := r.of[what]
	delete(r.of, what)
	if how.cursor == "" || time.Since(how.at) > readingAge {
		return nil
	}
	form.Set("cursor", how.cursor)
	return how.found
}

// broken notes that the call for the page that the form asks for has failed, and returns the error of the reading.
func (r *readings[M]) broken(what string, found []M, form url.Values, err error) error {
	word, refused := refusal(err)
	switch {
	case word == "invalid_cursor": // no word about the conversation: the next attempt begins anew
		return errors.New("where to read on is forgotten by Slack")
	case refused || !form.Has("cursor"):
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil || len(r.of) >= mostReadings {
		r.of = map[string]reading[M]{}
	}
	r.of[what] = reading[M]{found, form.Get("cursor"), time.Now()}
	return err
}
