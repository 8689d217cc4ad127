package bot

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// oracle answers questions with their number, counted from 1, each after its time.
type oracle struct {
	*cache[int]
	t *testing.T

	mu    sync.Mutex
	asked int
	takes time.Duration
	err   error
}

func newOracle(t *testing.T, takes time.Duration) *oracle {
	return &oracle{cache: newCache[int](time.Minute, 3), t: t, takes: takes}
}

func (o *oracle) ask(context.Context) (int, error) {
	o.mu.Lock()
	o.asked++
	n, takes, err := o.asked, o.takes, o.err
	o.mu.Unlock()
	time.Sleep(takes)
	return n, err
}

func (o *oracle) slow(takes time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.takes = takes
}

func (o *oracle) get(since time.Time) int {
	o.t.Helper()
	v, err := o.cache.get(o.t.Context(), "k", since, o.ask)
	if err != nil {
		o.t.Error(err)
	}
	return v
}

// TestCacheServesWhoNeedsNothingNew: a remembered answer, and one under way, serve callers without a since.
func TestCacheServesWhoNeedsNothingNew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOracle(t, 100*time.Millisecond)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { o.get(time.Time{}) })
			time.Sleep(time.Millisecond)
		}
		all.Wait()
		time.Sleep(58 * time.Second)
		if got := o.get(time.Time{}); got != 1 {
			t.Errorf("within the minute: answer %d", got)
		}
		time.Sleep(2 * time.Second)
		if got := o.get(time.Time{}); got != 2 {
			t.Errorf("after a minute: answer %d", got)
		}
		for i := range 100 {
			if _, err := o.cache.get(t.Context(), fmt.Sprint(i), time.Time{}, o.ask); err != nil {
				t.Fatal(err)
			}
		}
		if len(o.answers) > 3 || len(o.flights) != 0 {
			t.Errorf("%d answers of 3, %d questions under way", len(o.answers), len(o.flights))
		}
	})
}

// TestCacheNeverServesWhatIsTooOld: neither an answer nor a question under way serves somebody whose since is later
// than the moment at which it was put.
func TestCacheNeverServesWhatIsTooOld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOracle(t, 100*time.Millisecond)
		if got := o.get(time.Now()); got != 1 {
			t.Fatalf("answer %d", got)
		}
		time.Sleep(time.Millisecond)
		if got := o.get(time.Now()); got != 2 {
			t.Errorf("a remembered answer served a later click: answer %d", got)
		}

		began := time.Now()
		go o.get(began)
		time.Sleep(time.Millisecond)
		if got := o.get(time.Now()); got != 4 {
			t.Errorf("a click joined a question that began before it arrived: answer %d", got)
		}
		if got := time.Since(began); got != 200*time.Millisecond+gatherFor {
			t.Errorf("two questions, one after the other, took %v", got)
		}
		// Control: who needs no later one joins it, and who arrived before it began.
		time.Sleep(time.Minute)
		before := time.Now()
		time.Sleep(time.Millisecond)
		go o.get(time.Time{})
		time.Sleep(time.Millisecond)
		if a, b := o.get(time.Time{}), o.get(before); a != 5 || b != 5 {
			t.Errorf("answers %d and %d, want 5: nothing is shared", a, b)
		}
		// A since that is still to come gets what can be had: a question put now.
		if got := o.get(time.Now().Add(time.Hour)); got != 6 {
			t.Errorf("answer %d", got)
		}
	})
}

// TestCacheSharesQuestions: fifty people click while Slack takes its time.
func TestCacheSharesQuestions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOracle(t, 100*time.Millisecond)
		var all sync.WaitGroup
		for range 50 {
			since := time.Now()
			all.Go(func() {
				o.get(since)
				if took := time.Since(since); took > 200*time.Millisecond+gatherFor {
					t.Errorf("an answer took %v", took)
				}
			})
			time.Sleep(4 * time.Millisecond)
		}
		all.Wait()
		if o.asked != 3 {
			t.Errorf("asked %d times for 50 clicks in 200 ms", o.asked)
		}
	})
}

// TestCacheGathers: where answers come fast, clicks without a pause do not become questions without a pause.
func TestCacheGathers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOracle(t, time.Millisecond)
		var all sync.WaitGroup
		for range 120 {
			since := time.Now()
			all.Go(func() {
				o.get(since)
				if took := time.Since(since); took > 2*time.Millisecond+gatherFor {
					t.Errorf("an answer took %v", took)
				}
			})
			time.Sleep(250 * time.Microsecond)
		}
		all.Wait()
		if o.asked > 16 { // without a pause between them: 30
			t.Errorf("asked %d times for 120 clicks in 30 ms", o.asked)
		}
	})
}

// TestCacheOvertakes: a question that is stuck holds up nobody who needs a newer one for long, and its late answer
// replaces none that is newer.
func TestCacheOvertakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOracle(t, 10*time.Second)
		stuck := make(chan int, 1)
		go func() { stuck <- o.get(time.Now()) }()
		time.Sleep(time.Millisecond)
		o.slow(100 * time.Millisecond)
		began := time.Now()
		if got, took := o.get(began), time.Since(began); got != 2 || took > overtakeAfter+100*time.Millisecond {
			t.Errorf("answer %d after %v", got, took)
		}
		if got := <-stuck; got != 1 {
			t.Errorf("who asked first got answer %d", got)
		}
		if got := o.get(time.Time{}); got != 2 {
			t.Errorf("the late answer is remembered: %d", got)
		}
	})
}

// TestCacheAsksAnewWhatWasGivenUp: who has joined the question of somebody who gives up, or panics, asks anew.
func TestCacheAsksAnewWhatWasGivenUp(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(context.Context) (int, error){
		"gives up": func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 0, fmt.Errorf("asked in vain: %w", ctx.Err())
		},
		"panics": func(context.Context) (int, error) {
			time.Sleep(time.Second)
			panic("unreadable")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOracle(t, 100*time.Millisecond)
				why := errors.New("no time left")
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, why)
				defer cancel()
				began, ended := time.Now(), make(chan error, 1)
				go func() {
					defer func() {
						if v := recover(); v != nil {
							ended <- fmt.Errorf("panicked: %v", v)
						}
					}()
					_, err := o.cache.get(ctx, "k", began, end)
					ended <- err
				}()
				synctest.Wait()
				var all sync.WaitGroup
				for range 3 {
					all.Go(func() {
						if got := o.get(began); got != 1 {
							t.Errorf("answer %d", got)
						}
						if took := time.Since(began); took != 1100*time.Millisecond {
							t.Errorf("an answer took %v", took)
						}
					})
				}
				all.Wait()
				if err := <-ended; name == "gives up" && err != why || err == nil {
					t.Errorf("who asked first got %v", err)
				}
				if o.asked != 1 || len(o.flights) != 0 {
					t.Errorf("asked %d times, %d questions under way", o.asked, len(o.flights))
				}
			})
		})
	}
}

// TestCacheKeepsNoError also gives an error to all who share its question, and lets callers give up alone.
func TestCacheKeepsNoError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOracle(t, time.Second)
		o.err = errors.New("no line")
		impatient, giveUp := context.WithCancelCause(t.Context())
		errs := make(chan error, 2)
		go func() { _, err := o.cache.get(impatient, "k", time.Time{}, o.ask); errs <- err }()
		synctest.Wait()
		go func() { _, err := o.cache.get(t.Context(), "k", time.Time{}, o.ask); errs <- err }()
		synctest.Wait()
		gone := errors.New("gone")
		giveUp(gone)
		if err := <-errs; !errors.Is(err, gone) {
			t.Errorf("who gave up got %v", err)
		}
		if err := <-errs; !errors.Is(err, o.err) || o.asked != 1 {
			t.Errorf("who waited got %v after %d questions", err, o.asked)
		}
		o.err = nil
		if got := o.get(time.Time{}); got != 2 {
			t.Errorf("afterwards: answer %d", got)
		}
	})
}
