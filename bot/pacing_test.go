package bot

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slack-go/slack"
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
		began := time.Now()
		wait := p.wait(c)
		if wait == 0 {
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

// TestCrowdedChannelSlowsDownItself: Slack refuses faster than it posts, so that the first 429 of a channel is known
// before any of its posts is.
func TestCrowdedChannelSlowsDownItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, slack := newPacing(), &rationed{calls: map[string][]time.Time{}}
		began := time.Now()
		var all sync.WaitGroup
		for i := range 2 * mostInFlight {
			all.Go(func() {
				turn := paced{method: methodPost, channel: "crowded", what: fmt.Sprint(i)}
				insistently(p, turn, func() time.Duration {
					wait := slack.call(map[string]int{"crowded": 5},
						map[string]time.Duration{"crowded": 5 * time.Second})
					if wait == 0 {
						time.Sleep(200 * time.Millisecond)
					}
					return wait
				})
			})
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if slack.refused == 0 {
			t.Fatal("nothing was refused; the test shows nothing")
		}
		if d := p.wait(paced{method: methodPost, channel: "another", what: "other"}); d != 0 {
			t.Errorf("a post in another channel waits %s", d)
		}
		all.Wait()
		if took := time.Since(began); took > 25*time.Second {
			t.Errorf("%d posts took %s", 2*mostInFlight, took)
		}
	})
}

// TestBurstBeforeTheLesson: what other channels had posted before the first 429 counts with them, so that they meet
// none of their own, from which the workspace would be slowed down.
func TestBurstBeforeTheLesson(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, slack := newPacing(), &rationed{calls: map[string][]time.Time{}}
		post := func(channel string, i int) {
			turn := paced{method: methodPost, channel: channel, what: fmt.Sprint(channel, i)}
			insistently(p, turn, func() time.Duration {
				return slack.call(map[string]int{channel: 5}, map[string]time.Duration{channel: 5 * time.Second})
			})
		}
		channels := []string{"A", "B", "C"}
		var all sync.WaitGroup
		for i := range 5 {
			for _, c := range channels {
				all.Go(func() { post(c, i) })
			}
		}
		all.Wait()
		for _, c := range channels {
			all.Go(func() { post(c, 5) })
			time.Sleep(60 * time.Millisecond) // each after the 429 of the one before
		}
		all.Wait()
		if slack.refused != 1 {
			t.Errorf("%d answers of 429", slack.refused)
		}
		if d := p.wait(paced{method: methodPost, channel: "another", what: "other"}); d != 0 {
			t.Errorf("a post in another channel waits %s", d)
		}
		for range 8 { // what is documented holds for a while
			if gap := p.inChannels.gap; gap != inOneChannel {
				t.Errorf("posts in a channel are %s apart", gap)
			}
			time.Sleep(easeEvery)
			post("A", 6)
		}
	})
}

// TestPacingIsSoonAtTheLimit: a thousand posts take little more than the 200 s that Slack's 300 a minute allow, however
// long calls take and whatever 429 comes first. What a 429 of one channel teaches the workspace costs minutes.
func TestPacingIsSoonAtTheLimit(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			random := rand.New(rand.NewPCG(seed, seed))
			upTo := func(ms int) time.Duration {
				mu.Lock()
				defer mu.Unlock()
				return time.Duration(random.IntN(ms)) * time.Millisecond
			}
			p, slack := newPacing(), &rationed{calls: map[string][]time.Time{}}
			began := time.Now()
			var all sync.WaitGroup
			for i := range 1000 {
				all.Go(func() {
					time.Sleep(upTo(5000))
					call := paced{method: methodPost, channel: fmt.Sprint("C", i%100), what: fmt.Sprint(i)}
					insistently(p, call, func() time.Duration {
						wait := slack.call(map[string]int{call.channel: 5, "all": 300},
							map[string]time.Duration{call.channel: 5 * time.Second, "all": time.Minute})
						if wait == 0 { // Slack refuses faster than it posts
							time.Sleep(50*time.Millisecond + upTo(300))
						}
						return wait
					})
				})
			}
			all.Wait()
			if took := time.Since(began); took > 230*time.Second || slack.refused > 3*mostInFlight {
				t.Errorf("seed %d: it took %s, with %d answers of 429", seed, took, slack.refused)
			}
		})
	}
}

// TestOneCallTeachesNoDistance: of the one or two calls that went well since the last 429 nothing can be measured.
func TestOneCallTeachesNoDistance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPacing()
		call := func(i int, after time.Duration) {
			c := paced{method: methodUpdate, what: fmt.Sprint(i)}
			for d := p.wait(c); d > 0; d = p.wait(c) {
				time.Sleep(d)
			}
			p.done(c, time.Now(), after)
		}
		for i := range 50 {
			call(i, 0)
		}
		call(50, time.Second)
		gap := func() time.Duration { return p.lanes[methodUpdate].distance.gap }
		before := gap()
		if before <= 0 || before > 2*time.Second/50 {
			t.Fatalf("50 calls in a second are to be %s apart", before)
		}
		call(50, 0)
		call(51, time.Second)
		if g := gap(); g <= before || g > 2*before {
			t.Errorf("%s apart, then %s after one call that went well", before, g)
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

// TestWhatCanWaitTriesSeldom: a thousand marks that wait try again one after the other, and not all of them whenever
// one of them can be set. Each try costs a job, on PostgreSQL four statements.
func TestWhatCanWaitTriesSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const marks, perMinute = 300, 50
		p, slack := newPacing(), &rationed{calls: map[string][]time.Time{}}
		var tries, refused atomic.Int64
		var all sync.WaitGroup
		began := time.Now()
		for i := range marks {
			all.Go(func() {
				c := paced{method: "reactions.add", what: fmt.Sprint(i), cosmetic: true, apart: true}
				for {
					tries.Add(1)
					leave := p.enter(c.method)
					wait := p.wait(c)
					if wait == 0 {
						at := time.Now()
						window := map[string]time.Duration{"all": time.Minute}
						wait = slack.call(map[string]int{"all": perMinute}, window)
						if p.done(c, at, wait); wait > 0 {
							refused.Add(1)
						}
					}
					if leave(); wait == 0 {
						return
					}
					time.Sleep(wait + time.Duration(i%5)*100*time.Millisecond) // nobody comes at the very moment
				}
			})
		}
		all.Wait()
		// Some 2,000 of them, in 7 minutes; where each tries again as soon as one can be set, 30,000.
		if n := tries.Load(); n > 16*marks {
			t.Errorf("%d tries for %d marks, %d of them refused", n, marks, refused.Load())
		}
		if took, least := time.Since(began), (marks/perMinute-1)*time.Minute; took > least*2 {
			t.Errorf("took %s, %s are enough", took, least)
		}
	})
}

// TestReminderWaitsForNoOtherReminder: cards and answers may stand behind it in its queue, so it looks again as soon as
// there may be a turn.
func TestReminderWaitsForNoOtherReminder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPacing()
		first := paced{method: methodUpdate, what: "first"}
		p.wait(first)
		p.done(first, time.Now(), time.Second)
		var longest time.Duration
		for i := range 100 {
			c := paced{method: methodUpdate, what: fmt.Sprint("reminder ", i), cosmetic: true}
			longest = max(longest, p.wait(c))
		}
		if longest > 3*time.Second {
			t.Errorf("the last of a hundred reminders waits %s before it looks again", longest)
		}
	})
}

// TestLineOfThoseWhoNeverCome: a mark that has changed, or whose run has ended, does not come for its place. Whoever
// does come soon sees that the line has become shorter.
func TestLineOfThoseWhoNeverCome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPacing()
		mark := func(i int) paced {
			return paced{method: methodUpdate, what: fmt.Sprint("mark ", i), cosmetic: true, apart: true}
		}
		p.wait(mark(0))
		p.done(mark(0), time.Now(), time.Second)
		for i := range 300 {
			p.wait(mark(i + 1))
		}
		last := mark(301)
		wait, began := p.wait(last), time.Now()
		for wait > 0 {
			time.Sleep(wait)
			wait = p.wait(last)
		}
		if took := time.Since(began); took > 90*time.Second {
			t.Errorf("a mark behind 300 that nobody comes for waits %s", took)
		}
	})
}

// TestTurnsNobodyCameFor: what was promised a turn may be delivered by another process, or not be needed any more.
// Those who do come wait no longer for that.
func TestTurnsNobodyCameFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPacing()
		refuse := func(what string) {
			c := paced{method: methodUpdate, what: what}
			if d := p.wait(c); d > 0 {
				t.Fatalf("%s waits %s", what, d)
			}
			p.done(c, time.Now(), time.Second)
		}
		refuse("first")
		p.wait(paced{method: methodUpdate, what: "delivered by another process"})
		time.Sleep(100 * time.Second)
		refuse("second")
		if d := p.wait(paced{method: methodUpdate, what: "next"}); d > 10*time.Second {
			t.Fatalf("the next one waits %s after a pause of a second", d)
		}
		p.wait(paced{method: methodUpdate, what: "last"})
		time.Sleep(500 * time.Millisecond)
		p.done(paced{method: methodUpdate}, time.Now(), time.Second) // of one that was on its way
		if d := p.wait(paced{method: methodUpdate, what: "last"}); d > 10*time.Second {
			t.Errorf("the last one waits %s after a pause of a second", d)
		}
	})
}

// TestChannelIsCrowdedOnceMore: what was learnt is forgotten by and by. A channel that is crowded after that slows down
// itself again, and not the workspace, which had as little to do with it as the first time.
func TestChannelIsCrowdedOnceMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, slack := newPacing(), &rationed{calls: map[string][]time.Time{}}
		post := func(channel string, i int) {
			turn := paced{method: methodPost, channel: channel, what: fmt.Sprint(channel, i)}
			insistently(p, turn, func() time.Duration {
				return slack.call(map[string]int{channel: 5}, map[string]time.Duration{channel: 5 * time.Second})
			})
		}
		burst := func() {
			var all sync.WaitGroup
			for i := range 2 * mostInFlight {
				all.Go(func() { post("crowded", i) })
			}
			all.Wait()
			if d := p.wait(paced{method: methodPost, channel: "another", what: "other"}); d != 0 {
				t.Errorf("a post in another channel waits %s", d)
			}
			p.dropped(paced{method: methodPost, channel: "another"})
		}
		burst()
		for i := 0; p.inChannels.gap > 0; i++ {
			time.Sleep(easeEvery)
			post("quiet", i)
		}
		slack.refused = 0
		for i := range 30 { // more than in the channel
			post(fmt.Sprint("elsewhere", i), 0)
		}
		burst()
		if slack.refused == 0 {
			t.Fatal("nothing was refused; the test shows nothing")
		}
		if gap := p.lanes[methodPost].distance.gap; gap != 0 {
			t.Errorf("posts of the whole workspace are %s apart", gap)
		}
	})
}

// TestWordsThatCameTooLateTakeNoTurns: of many hints at once some are given up. The turns that they were promised are
// left to the hints that come later, of which there are no more than Slack takes.
func TestWordsThatCameTooLateTakeNoTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := rationed{calls: map[string][]time.Time{}}
		b := &Bot{pace: newPacing()}
		var all sync.WaitGroup
		var told, lost int
		var mu sync.Mutex
		tell := func(count bool) {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), followTime)
				defer cancel()
				err := b.patiently(ctx, methodEphemeral, "C1", func() error {
					time.Sleep(50 * time.Millisecond) // the way to Slack
					wait := r.call(map[string]int{"": 100}, map[string]time.Duration{"": time.Minute})
					if wait > 0 {
						return &slack.RateLimitedError{RetryAfter: wait}
					}
					return nil
				})
				mu.Lock()
				defer mu.Unlock()
				switch {
				case !count:
				case err == nil:
					told++
				default:
					lost++
				}
			})
		}
		for range 300 {
			tell(false)
		}
		for i := range 600 {
			time.Sleep(time.Second)
			tell(i >= 120)
		}
		all.Wait()
		if lost > 0 {
			t.Errorf("%d hints were given up, %d told", lost, told)
		}
		for key, l := range b.pace.lanes {
			if len(l.turns) != 0 {
				t.Errorf("%s: %d turns are promised to nobody", key, len(l.turns))
			}
		}
	})
}
