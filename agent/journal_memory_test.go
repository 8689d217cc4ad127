package agent

import (
	"errors"
	"strconv"
	"testing"
)

func TestMemoryJournal(t *testing.T) {
	t.Parallel()
	var j memoryJournal
	intent := func(e Effect) (Prior, error) { return j.Intent(t.Context(), e) }
	e := Effect{ID: "e1", Digest: Digest{1}}
	if prior, err := intent(e); prior != (Prior{}) || err != nil {
		t.Fatal("the first intent goes ahead", prior, err)
	}
	if _, err := intent(e); !errors.Is(err, ErrOutcomeUnknown) {
		t.Error("a second one must not", err)
	}
	retry := e
	retry.Retry, retry.Attempt = true, 1
	if prior, err := intent(retry); err != nil || prior.Output != nil || !prior.Begun {
		t.Error("a retry goes ahead, of what was begun before", prior, err)
	}
	if _, err := intent(retry); !errors.Is(err, ErrOutcomeUnknown) {
		t.Error("but once", err)
	}
	changed := retry
	changed.Digest = Digest{2}
	for _, retry := range []bool{false, true} {
		changed.Retry = retry
		if _, err := intent(changed); !errors.Is(err, ErrOutcomeUnknown) {
			t.Error("another call under the same id must not run", err)
		}
	}
	if err := j.Done(t.Context(), e, ToolOutput{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	if prior, err := intent(e); err != nil || prior.Output == nil || prior.Output.Text != "x" || prior.Begun {
		t.Error("what is done is not done again", prior, err)
	}
	if _, err := intent(changed); !errors.Is(err, ErrOutcomeUnknown) {
		t.Error("nor once the first is done", err)
	}
	changed.Attempt = 2
	if prior, err := intent(changed); prior != (Prior{}) || err != nil {
		t.Error("unless people were asked about it", prior, err)
	}
	idempotent := Effect{ID: "e2", Idempotent: true}
	for _, begun := range []bool{false, true} {
		if prior, err := intent(idempotent); prior.Output != nil || prior.Begun != begun || err != nil {
			t.Error("an idempotent effect may be repeated", prior, err)
		}
	}
}

func TestMemoryJournalIsBounded(t *testing.T) {
	t.Parallel()
	var j memoryJournal
	const more = 10
	for i := range memoryEffects + more {
		if _, err := j.Intent(t.Context(), Effect{ID: strconv.Itoa(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if len(j.effects) != memoryEffects || len(j.order) != memoryEffects {
		t.Errorf("%d effects", len(j.effects))
	}
	if _, err := j.Intent(t.Context(), Effect{ID: strconv.Itoa(more)}); !errors.Is(err, ErrOutcomeUnknown) {
		t.Error("the oldest that must be remembered is forgotten", err)
	}
	if _, err := j.Intent(t.Context(), Effect{ID: "0"}); err != nil {
		t.Error("the oldest are forgotten first", err)
	}
}

func TestMemoryJournalTellsRunsApart(t *testing.T) {
	t.Parallel()
	var j memoryJournal
	begun := func(id string) int { return j.begin(id) }
	if a, b, other := begun("a"), begun("a"), begun("b"); a != 0 || b != 1 || other != 0 {
		t.Error("the series of runs:", a, b, other)
	}
	j.resume("a", 7)
	j.resume("a", 0) // an older one of them
	j.resume("c", 0) // begun through another runner
	if a, c := begun("a"), begun("c"); a != 8 || c != 1 {
		t.Error("after resuming:", a, c)
	}
	for i := range memoryEffects {
		begun(strconv.Itoa(i))
	}
	if len(j.series) != memoryEffects || len(j.runs) != memoryEffects {
		t.Errorf("%d runs are remembered", len(j.series))
	}
	if a, last := begun("a"), begun(strconv.Itoa(memoryEffects-1)); a != 0 || last != 1 {
		t.Error("the oldest are forgotten first:", a, last)
	}
}
