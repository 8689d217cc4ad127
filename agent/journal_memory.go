package agent

import (
	"context"
	"fmt"
	"sync"
)

// memoryEffects bounds how many effects, and how many ids of runs, a memoryJournal remembers; the oldest are forgotten
// first.
const memoryEffects = 1 << 16

// memoryJournal is the journal of a Runner without one. It knows what happened through this Runner in this process,
// and nothing after a crash. The zero value is ready for use.
type memoryJournal struct {
	mu      sync.Mutex
	effects map[string]*memoryEffect
	order   []string // ids in the order of their first intent, as a ring once it is full
	oldest  int

	series    map[string]int // the newest series of each run id
	runs      []string       // run ids in the order in which they came, as a ring once it is full
	oldestRun int
}

type memoryEffect struct {
	digest  Digest
	attempt int
	output  *ToolOutput // nil until done
}

// Intent implements Journal.
func (m *memoryJournal) Intent(_ context.Context, e Effect) (Prior, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.effects[e.ID]
	switch {
	case known == nil:
		m.remember(e)
		return Prior{}, nil
	case known.digest == e.Digest && known.output != nil:
		output := *known.output
		return Prior{Output: &output}, nil
	case e.Retry && e.Attempt > known.attempt: // people were asked about the call as it is now
		begun := known.output == nil
		*known = memoryEffect{digest: e.Digest, attempt: e.Attempt}
		return Prior{Begun: begun}, nil
	case known.digest != e.Digest:
		return Prior{}, fmt.Errorf("%w: the effect was begun with another definition or arguments", ErrOutcomeUnknown)
	case e.Idempotent:
		return Prior{Begun: true}, nil
	}
	return Prior{}, ErrOutcomeUnknown
}

// Done implements Journal.
func (m *memoryJournal) Done(_ context.Context, e Effect, out ToolOutput) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.effects[e.ID]; known != nil {
		known.output = &out
	}
	return nil
}

func (m *memoryJournal) remember(e Effect) {
	if m.effects == nil {
		m.effects = make(map[string]*memoryEffect)
	}
	m.effects[e.ID] = &memoryEffect{digest: e.Digest}
	if len(m.order) < memoryEffects {
		m.order = append(m.order, e.ID)
		return
	}
	delete(m.effects, m.order[m.oldest])
	m.order[m.oldest] = e.ID
	m.oldest = (m.oldest + 1) % memoryEffects
}

// begin returns the series of a new run with the id: 0, or one more than that of the last run with the same id, so that
// the effects of the two have different ids.
func (m *memoryJournal) begin(id string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	series := 0
	if last, known := m.series[id]; known {
		series = last + 1
	}
	m.know(id, series)
	return series
}

// resume notes that there is a run with the id and the series.
func (m *memoryJournal) resume(id string, series int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if last, known := m.series[id]; !known || last < series {
		m.know(id, series)
	}
}

func (m *memoryJournal) know(id string, series int) {
	if m.series == nil {
		m.series = make(map[string]int)
	}
	_, known := m.series[id]
	m.series[id] = series
	switch {
	case known:
	case len(m.runs) < memoryEffects:
		m.runs = append(m.runs, id)
	default:
		delete(m.series, m.runs[m.oldestRun])
		m.runs[m.oldestRun] = id
		m.oldestRun = (m.oldestRun + 1) % memoryEffects
	}
}
