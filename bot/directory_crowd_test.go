package bot

import (
	"encoding/json"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/approvals"
)

// manyChannels answers about the channels C0 to C29, of which C7 is shared once share says so and the bot is not in C9.
// It takes 50 calls of a method in a minute.
type manyChannels struct {
	share func() bool

	mu    sync.Mutex
	taken map[string]int
	began time.Time
}

func (m *manyChannels) channel(id string) map[string]any {
	shared := id == "C7" && m.share != nil && m.share()
	return map[string]any{"id": id, "name": "of-" + id, "is_ext_shared": shared, "is_shared": shared}
}

func (m *manyChannels) answer(method string, form url.Values) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.began) >= time.Minute {
		m.began, m.taken = time.Now(), map[string]int{}
	}
	if m.taken[method]++; m.taken[method] > 50 {
		return "429 30"
	}
	said := map[string]any{"ok": true}
	if method == methodChannelInfo {
		said["channel"] = m.channel(form.Get("channel"))
	} else {
		var all []any
		for i := range 30 {
			if i != 9 {
				all = append(all, m.channel(fmt.Sprint("C", i)))
			}
		}
		said["channels"] = all
	}
	raw, _ := json.Marshal(said) // strings and booleans
	return string(raw)
}

// TestManyChannelsAreLearntOfAtOnce: posts in thirty channels, each of which needs an answer that is five seconds old
// at most, get one within what Slack takes of either method.
func TestManyChannelsAreLearntOfAtOnce(t *testing.T) {
	t.Parallel()
	for name, enterprise := range map[string]string{"workspace": "", "organisation, one by one": "E0DEV"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := &memory{answer: new(manyChannels).answer}
				c := m.client(t)
				c.identity.enterprise = enterprise
				refused := 0
				for range 60 { // two minutes
					for i := range 30 {
						channel := fmt.Sprint("C", i)
						got, err := c.Channel(t.Context(), testWorkspace, channel, time.Now().Add(-sharedAge))
						if err != nil {
							refused++
						} else if got.Name != "of-"+channel {
							t.Fatalf("%s is %+v", channel, got)
						}
					}
					time.Sleep(2 * time.Second)
				}
				info, lists := m.asked(methodChannelInfo), m.asked(methodPlaces)
				t.Logf("%d calls about one channel, %d lists, %d without an answer", info, lists, refused)
				if enterprise != "" {
					if refused == 0 || lists != 0 {
						t.Error("control: Slack refused nothing, or was asked for a list")
					}
					return
				}
				if most := int(2 * time.Minute / crowdTime * crowdCalls); refused != 0 || lists > 2*13 || info > most {
					t.Error("too many of them")
				}
			})
		})
	}
}

// TestCrowdLeavesListsToDecisions: a decision needs an answer of its own each time, and the list is what rights rest
// on. It is taken only where Slack refuses to tell of one channel.
func TestCrowdLeavesListsToDecisions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{answer: new(manyChannels).answer}
		c := m.client(t)
		for i := range 60 {
			if _, err := c.Channel(t.Context(), testWorkspace, "C1", time.Now()); err != nil && i != 50 {
				t.Errorf("question %d: %v", i, err)
			}
			time.Sleep(time.Millisecond)
			if info, lists := m.asked(methodChannelInfo), m.asked(methodPlaces); i < 50 && lists > 0 || info > 51 {
				t.Fatalf("question %d: %d calls about one channel, %d lists", i, info, lists)
			}
		}
	})
}

// TestSharingIsSeenInACrowd: what was listed before Slack said that a channel is shared does not hold.
func TestSharingIsSeenInACrowd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := false
		m := &memory{answer: (&manyChannels{share: func() bool { return shared }}).answer}
		c := m.client(t)
		ask := func(channel string) approvals.Channel {
			got, err := c.Channel(t.Context(), testWorkspace, channel, time.Time{})
			if err != nil {
				t.Error(err)
			}
			return got
		}
		for i := range 30 {
			ask(fmt.Sprint("C", i))
		}
		if ask("C7").External || m.asked(methodPlaces) != 1 {
			t.Error("control: it was shared before, or there was no crowd")
		}
		time.Sleep(time.Second)
		shared = true
		if ask("C7").External {
			t.Error("control: an answer of a second ago does not serve")
		}
		c.channels.forget("C7")
		if !ask("C7").External || ask("C8").External {
			t.Error("the channel that is shared now is not taken for one")
		}
		if n := m.asked(methodPlaces); n != 2 {
			t.Errorf("%d lists", n)
		}
	})
}
