package approvals_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/store/storetest"
)

// doomed is the store of one of several processes, which can die.
type doomed struct {
	approvals.Store
	dead atomic.Bool
}

func (d *doomed) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	if d.dead.Load() {
		return errDead
	}
	err := d.Store.Update(ctx, fn)
	if d.dead.Load() {
		return errDead
	}
	return err
}

func (d *doomed) View(ctx context.Context, fn func(approvals.Tx) error) error {
	if d.dead.Load() {
		return errDead
	}
	return d.Store.View(ctx, fn)
}

// begin has a process work on the data, and returns what ends it at once, and closes dead then.
func begin(b *bench, data *storetest.Memory) (kill func(dead chan struct{})) {
	st := &doomed{Store: data.Open()}
	b.serve(st)
	w, err := approvals.NewWorker(b.worker)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Run(ctx)
	}()
	return func(dead chan struct{}) {
		st.dead.Store(true)
		close(dead)
		cancel()
		<-done
		st.Close()
	}
}

// TestWorkOfAProcessWhoseClockWasAhead: the only process dies while the clock is ahead, and another one begins when it
// was set right. What the first had in hand, and what it had put off, goes on in a few minutes, not when the clock has
// caught up.
func TestWorkOfAProcessWhoseClockWasAhead(t *testing.T) {
	t.Parallel()
	for name, during := range map[string]func(b *bench, die func() error){
		"a model call": func(b *bench, die func() error) {
			answers := asks(call("c1", "pay", `{"amount":5}`))
			b.model(model(func(req *agent.ModelRequest) ([]agent.Item, error) {
				if err := die(); err != nil {
					return nil, err
				}
				return answers(req)
			}))
		},
		"the delivery of the card": func(b *bench, die func() error) {
			b.surface.intercept = func(n *approvals.Notification) error {
				if n.Kind == approvals.NotifyCard {
					return die()
				}
				return nil
			}
		},
		"a pause that Slack has asked for": func(b *bench, die func() error) {
			asked := false
			b.surface.intercept = func(n *approvals.Notification) error {
				if n.Kind != approvals.NotifyCard || asked {
					return nil
				}
				asked = true
				time.AfterFunc(time.Second, func() { die() })
				return &approvals.RetryError{After: time.Minute, Err: errors.New("rate limited"), Unsent: true}
			}
		},
	} {
		for _, ahead := range []time.Duration{100 * time.Hour, 2 * time.Hour, time.Minute, 0} {
			t.Run(name+", ahead by "+ahead.String(), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					data := storetest.NewMemory()
					b := &bench{
						TB: t, people: newDirectory(), policy: &policy{}, surface: &surface{}, effects: &effects{},
						agents: &agents{all: map[string]approvals.AgentConfig{}}, log: slog.New(slog.DiscardHandler),
					}
					b.policy.always(lenient())
					b.model(asks(call("c1", "pay", `{"amount":5}`)))
					dies, dead := make(chan struct{}), make(chan struct{})
					var once sync.Once
					during(b, func() (err error) {
						once.Do(func() {
							close(dies)
							<-dead
							err = errDead
						})
						return err
					})
					data.Step(ahead)
					kill := begin(b, data)
					b.submit()
					<-dies
					kill(dead)
					data.Step(-ahead)
					kill = begin(b, data)
					defer kill(make(chan struct{}))
					time.Sleep(5 * time.Minute)
					if got := len(b.surface.all()); got == 0 {
						t.Error("nobody is asked")
					}
				})
			})
		}
	}
}
