package agent_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"countersign/agent"
)

// TestMutatedStates changes frozen states where their structure is: members left out, doubled, or given the value of
// another place. Such a state is refused, or it is one: it is written as it was read, and can be decided and resumed.
func TestMutatedStates(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(corpus, "v*.json"))
	must(t, err)
	states := make([][]byte, len(files))
	for i, file := range files {
		states[i], err = os.ReadFile(file)
		must(t, err)
	}
	accepted, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SampledFrom(states).Draw(t, "state")
		root := rootOf(data)
		mutated := mutate(t, data)
		s, err := agent.DecodeRunState(mutated, root)
		if err != nil {
			refused++
			return
		}
		accepted++
		written, err := s.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		again, err := agent.DecodeRunState(written, root)
		if err != nil {
			t.Fatalf("cannot read what was written: %v\n%s", err, written)
		}
		if third, err := again.MarshalJSON(); err != nil || !bytes.Equal(written, third) {
			t.Fatalf("written otherwise the second time: %v\n%s\n%s", err, written, third)
		}
		for _, in := range s.Undecided() {
			if err := s.Approve(in, frozenAnswer(in)); err != nil {
				_ = s.Reject(in, agent.RejectOptions{})
			}
		}
		res, err := (&agent.Runner{}).Resume(t.Context(), root, s, agent.RunOptions{MaxTurns: 10})
		if err == nil && !res.State.Finished() && len(res.Interruptions) == 0 {
			t.Errorf("neither finished nor waiting: %s", mutated)
		}
	})
	if accepted == 0 || refused == 0 {
		t.Errorf("%d accepted, %d refused: the mutations are too harsh or too mild", accepted, refused)
	}
}

// place is a value inside a document, and how to set it.
type place struct {
	value any
	set   func(any)
}

// mutate changes one or two places of a document.
func mutate(t *rapid.T, data []byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var doc any
	if err := dec.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	for range rapid.IntRange(1, 2).Draw(t, "changes") {
		places := placesOf(doc, nil)
		p := rapid.SampledFrom(places).Draw(t, "place")
		switch rapid.SampledFrom([]string{"other", "other", "drop", "double", "number", "null"}).Draw(t, "how") {
		case "other":
			p.set(without(rapid.SampledFrom(places).Draw(t, "other").value))
		case "drop":
			p.set(gone{})
		case "double":
			if list, ok := p.value.([]any); ok && len(list) > 0 {
				p.set(append(slices.Clone(list), list[rapid.IntRange(0, len(list)-1).Draw(t, "element")]))
			}
		case "number":
			p.set(json.Number(
				rapid.SampledFrom([]string{"-1", "0", "1", "2", "3", "5", "7", "8", "9", "100"}).Draw(t, "number")))
		case "null":
			p.set(nil)
		}
	}
	return encodeDoc(t, doc)
}

// gone stands for a member or an element that is left out.
type gone struct{}

func placesOf(v any, places []place) []place {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			places = append(places, place{v[key], func(value any) { v[key] = value }})
			places = placesOf(v[key], places)
		}
	case []any:
		for i := range v {
			places = append(places, place{v[i], func(value any) { v[i] = value }})
			places = placesOf(v[i], places)
		}
	}
	return places
}

func encodeDoc(t *rapid.T, doc any) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(without(doc)); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// without returns a copy of the document in which what is gone is left out.
func without(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			if _, ok := value.(gone); !ok {
				out[key] = without(value)
			}
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, value := range v {
			if _, ok := value.(gone); !ok {
				out = append(out, without(value))
			}
		}
		return out
	}
	return v
}
