package bot

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/approvals"
)

// crowdedTown answers about people, each in one of its channels, as often as Slack does in a minute.
type crowdedTown struct {
	people, channels int
	noList           bool // it has no method that lists people

	mu    sync.Mutex
	slack rationed
}

func (w *crowdedTown) name(i int) string { return fmt.Sprintf("U%07d", i) }

func (w *crowdedTown) answer(method string, form url.Values) string {
	time.Sleep(100 * time.Millisecond) // the way to Slack
	w.mu.Lock()
	limit, window := map[string]int{method: rations[method]}, map[string]time.Duration{method: time.Minute}
	wait := w.slack.call(limit, window)
	w.mu.Unlock()
	if wait > 0 {
		return fmt.Sprint("429 ", int(wait.Seconds()))
	}
	said := map[string]any{"ok": true}
	person := func(i int) map[string]any { return map[string]any{"id": w.name(i), "team_id": "T0DEV"} }
	number := func(field string) int {
		i, _ := strconv.Atoi(form.Get(field)[1:])
		return i
	}
	page := func(field string, all []any) {
		from, _ := strconv.Atoi(form.Get("cursor"))
		most, _ := strconv.Atoi(form.Get("limit"))
		to := min(from+most, len(all))
		said[field] = all[from:to]
		if to < len(all) {
			said["response_metadata"] = map[string]any{"next_cursor": strconv.Itoa(to)}
		}
	}
	switch method {
	case methodUserInfo:
		said["user"] = person(number("user"))
	case methodUsers:
		if w.noList {
			return `{"ok":false,"error":"unknown_method"}`
		}
		var all []any
		for i := range w.people {
			all = append(all, person(i))
		}
		page("members", all)
	case methodPlaces:
		said["channels"] = []any{map[string]any{"id": fmt.Sprint("C", number("user")%w.channels), "name": "x"}}
	case methodMembers:
		var all []any
		for i := number("channel"); i < w.people; i += w.channels {
			all = append(all, w.name(i))
		}
		page("members", all)
	}
	raw, _ := json.Marshal(said) // strings and booleans
	return string(raw)
}

// TestCrowdOfPeopleIsLearntOfByLists: a thousand people mention the bot at once. All are known after the minutes that
// it takes to list their channels, Slack refuses nothing, and meanwhile somebody who decides each second is looked up
// at once. Without the lists they would have to be looked up one by one.
func TestCrowdOfPeopleIsLearntOfByLists(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		w    *crowdedTown
		most time.Duration
	}{
		"with lists":          {&crowdedTown{people: 1000, channels: 100}, 3 * time.Minute},
		"no list of people":   {&crowdedTown{people: 400, channels: 100, noList: true}, 13 * time.Minute},
		"too many to list":    {&crowdedTown{people: 9000, channels: 900}, 0},
		"one channel for all": {&crowdedTown{people: 1000, channels: 1}, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := c.w
				w.slack.calls = map[string][]time.Time{}
				m := &memory{answer: w.answer}
				cl := m.client(t)
				began := time.Now()
				var crowd, one sync.WaitGroup
				over := make(chan struct{})
				for i := range min(w.people, 1000) {
					crowd.Go(func() {
						ctx := approvals.WithPatience(t.Context(), true)
						for c.most == 0 || time.Since(began) < 2*c.most {
							who, err := cl.Person(ctx, user(w.name(i)), time.Time{})
							in := false
							if err == nil {
								in, err = isInAs(ctx, cl, fmt.Sprint("C", i%w.channels), w.name(i))
							}
							if err == nil && (!who.Regular || !in) {
								t.Errorf("%s: %+v, in its channel: %v", w.name(i), who, in)
							}
							later, putOff := errors.AsType[*approvals.RetryError](err)
							if !putOff || c.most == 0 {
								break
							}
							time.Sleep(min(later.After, 20*time.Second))
						}
					})
				}
				asked, longest, failed := 0, time.Duration(0), 0
				one.Go(func() {
					for {
						select {
						case <-over:
							return
						case <-time.After(3 * time.Second):
						}
						at := time.Now()
						_, err := cl.Person(t.Context(), user(w.name(0)), at)
						if err == nil {
							_, err = isIn(t, cl, "C0", w.name(0), at)
						}
						if asked++; err != nil {
							failed++
							t.Log(err)
						}
						longest = max(longest, time.Since(at))
					}
				})
				crowd.Wait()
				took := time.Since(began)
				time.Sleep(10 * time.Second)
				close(over)
				one.Wait()
				t.Logf("took %s; %d of users.info, %d of users.list, %d of users.conversations, %d of "+
					"conversations.members; refused %d; somebody who decides %d times waited %s, %d in vain", took,
					m.asked(methodUserInfo), m.asked(methodUsers), m.asked(methodPlaces), m.asked(methodMembers),
					w.slack.refused, asked, longest, failed)
				if c.most > 0 && took > c.most || w.slack.refused > 0 || failed > 0 || longest > time.Second {
					t.Error("too long, or too much")
				}
			})
		})
	}
}
