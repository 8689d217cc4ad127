package approvals_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// waitingModel answers when it is released.
type waitingModel struct {
	asked    atomic.Int64
	released chan struct{}
}

func (m *waitingModel) Respond(ctx context.Context, _ *agent.ModelRequest) (*agent.ModelResponse, error) {
	m.asked.Add(1)
	select {
	case <-m.released:
		return nil, fmt.Errorf("no answer")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestRunsBeginAFewAtATime: of many runs at once only some are begun at the same time, so that people who decide do not
// wait for the processor behind all of them; but none waits for what another one waits for.
func TestRunsBeginAFewAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		m := &waitingModel{released: make(chan struct{})}
		b.model(m)
		step := b.step()
		many := 3*max(16, 8*runtime.GOMAXPROCS(0)) + 2
		var ended sync.WaitGroup
		for i := range many {
			id := b.submitAt(approvals.Place{Surface: "slack", Channel: "C1", Thread: fmt.Sprintf("%d.1", i)})
			ended.Go(func() { _ = step(runJob(id)) })
		}
		synctest.Wait()
		if n := m.asked.Load(); n == 0 || n > int64(many/3) {
			t.Errorf("%d of %d runs have begun at once", n, many)
		}
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if n := m.asked.Load(); n != int64(many) {
			t.Errorf("after a tenth of a second %d of %d runs have begun, none has an answer of its model", n, many)
		}
		close(m.released)
		ended.Wait()
		b.stop()
	})
}
