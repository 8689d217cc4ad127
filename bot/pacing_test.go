package bot

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// rationed is Slack counting calls: so many within a window, by key.
type rationed struct {
	mu      sync.Mutex
	calls   map[string][]time.Time
	refused int
}

// call returns what Slack asks to wait in whole seconds, or zero.
func (r *rationed) call(limits map[string]int, window map[string]time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for key, most := range limits {
		for len(r.calls[key]) > 0 && now.Sub(r.calls[key][0]) > window[key] {
			r.calls[key] = r.calls[key][1:]
		}
		if len(r.calls[key]) >= most {
			r.refused++
			return (window[key] - now.Sub(r.calls[key][0])).Truncate(time.Second) + time.Second
		}
	}
	for key := range limits {
		r.calls[key] = append(r.calls[key], now)
	}
	return 0
}

// insistently makes a call until it has gone through, as the outbox does.
func insistently(p *pacing, c paced, call func() time.Duration) {
	for {
		leave := p.enter(c.method)
		wait := p.wait(c)
		if wait == 0 {
			began := time.Now()
			time.Sleep(50 * time.Millisecond) // the way to Slack
			if wait = call(); wait == 0 {
				p.done(c, began, 0)
				leave()
				return
			}
			p.done(c, began, wait)
			wait = max(wait, p.wait(c))
		}
		leave()
		time.Sleep(wait)
	}
}

// TestPacingMeetsFew429s: what one call learns holds for every channel. Eighty lanes of their own met eighty.
func TestPacingMeetsFew429s(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method             string
		channels, each     int
		perChannel, perAll int
		most               int
		within             time.Duration
	}{
		"cards of 80 channels, 50 a minute":       {methodUpdate, 80, 1, 1000, 50, 2 * mostInFlight, 3 * time.Minute},
		"1,000 posts in 100 channels":             {methodPost, 100, 10, 5, 300, 3 * mostInFlight, 8 * time.Minute},
		"40 posts in each of 4 crowded channels":  {methodPost, 4, 40, 5, 300, 3 * mostInFlight, 3 * time.Minute},
		"few enough: nothing is slowed down ever": {methodUpdate, 40, 1, 1000, 50, 0, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p, slack := newPacing(), &rationed{calls: map[string][]time.Time{}}
				began := time.Now()
				var all sync.WaitGroup
				for i := range c.channels * c.each {
					all.Go(func() {
						call := paced{method: c.method, channel: fmt.Sprint("C", i%c.channels), what: fmt.Sprint(i)}
						insistently(p, call, func() time.Duration {
							return slack.call(map[string]int{call.channel: c.perChannel, "all": c.perAll},
								map[string]time.Duration{call.channel: 5 * time.Second, "all": time.Minute})
						})
					})
				}
				all.Wait()
				if took := time.Since(began); slack.refused > c.most || took > c.within {
					t.Errorf("%d answers of 429, at most %d; it took %s, at most %s",
						slack.refused, c.most, took, c.within)
				}
				if n := len(p.lanes); n > c.channels+1 {
					t.Errorf("%d lanes are remembered", n)
				}
				for _, l := range p.lanes {
					if len(l.turns) != 0 {
						t.Errorf("%d turns are promised to nobody", len(l.turns))
					}
				}
			})
		})
	}
}

func TestPacingRecoversLittleByLittle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPacing()
		c := paced{method: "m", channel: "c", what: "x"}
		if d := p.wait(c); d != 0 {
			t.Fatalf("slowed down before Slack asked for it: %s", d)
		}
		p.done(c, time.Now(), time.Hour)
		if d := p.wait(c); d != time.Hour {
			t.Errorf("waits %s of an hour", d)
		}
		if d := p.wait(paced{method: "m", channel: "other", what: "y"}); d < time.Hour {
			t.Errorf("another channel of the workspace waits %s", d)
		}
		if d := p.wait(paced{method: "other", channel: "c", what: "z"}); d != 0 {
			t.Errorf("another method waits %s", d)
		}
		time.Sleep(time.Hour + 2*promisedFor)
		gap := func() time.Duration {
			for {
				began := time.Now()
				if d := p.wait(c); d > 0 {
					time.Sleep(d)
					continue
				}
				p.done(c, began, 0)
				return p.lanes["m"].distance.gap
			}
		}
		before := gap()
		if before == 0 {
			t.Fatal("forgotten at once")
		}
		for range 200 {
			time.Sleep(easeEvery)
			now := gap()
			if now > before || now != 0 && now < before*8/10 {
				t.Fatalf("from %s to %s at once", before, now)
			}
			before = now
		}
		if before != 0 {
			t.Errorf("still %s apart", before)
		}
	})
}

// TestDecisionsGoBeforeReminders: while turns are scarce, what can wait takes none of them.
func TestDecisionsGoBeforeReminders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPacing()
		first := paced{method: methodUpdate, what: "first"}
		p.wait(first)
		p.done(first, time.Now(), time.Second)
		var mu sync.Mutex
		var order []string
		var all sync.WaitGroup
		begin := func(c paced) {
			all.Go(func() {
				insistently(p, c, func() time.Duration {
					mu.Lock()
					defer mu.Unlock()
					order = append(order, c.what)
					return 0
				})
			})
			synctest.Wait()
		}
		begin(paced{method: methodUpdate, what: "reminder", cosmetic: true})
		for i := range 5 {
			begin(paced{method: methodUpdate, what: fmt.Sprint("decision ", i)})
		}
		all.Wait()
		if len(order) != 6 || order[5] != "reminder" {
			t.Errorf("in the order %q", order)
		}
	})
}
