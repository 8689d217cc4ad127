package agent_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"countersign/agent"
)

// damage lists what is wrong with the states in testdata/runstate/negative: the state of the corpus it was made from,
// and the text that was replaced. -update writes the files that are missing; the test then reads whatever is there.
var damage = append([]damaged{
	{"no-version", "v1-pending", `"version":1,`, ``},
	{"newer-version", "v1-pending", `"version":1,`, `"version":99,`},
	{"fractional-version", "v1-pending", `"version":1,`, `"version":1.5,`},
	{"text-version", "v1-pending", `"version":1,`, `"version":"1",`},
	{"unknown-member", "v1-pending", `"turn":1,`, `"turn":1,"canary":"CANARY",`},
	{"unknown-member-of-a-call", "v1-pending", `"tool":"pay",`, `"tool":"pay","approved":true,`},
	{"member-in-another-case", "v1-pending", `"turn":1,`, `"Turn":1,`},
	{"member-twice", "v1-pending", `"turn":1,`, `"turn":1,"turn":2,`},
	{"member-null", "v1-pending", `"session":{"saved":0}`, `"session":null`},
	{"member-missing", "v1-pending", `"max_turns":10,`, ``},
	{"wrong-type", "v1-pending", `"id":"run_frozen"`, `"id":["CANARY"]`},
	{"empty-id", "v1-pending", `"id":"run_frozen"`, `"id":""`},
	{"no-path", "v1-pending", `"path":["ops"]`, `"path":[]`},
	{"negative-turn", "v1-pending", `"turn":1,`, `"turn":-1,`},
	{"turn-zero-with-calls", "v1-pending", `"turn":1,`, `"turn":0,`},
	{"negative-usage", "v1-pending", `"input_tokens":11`, `"input_tokens":-11`},
	{"huge-usage", "v1-pending", `"input_tokens":11`, `"input_tokens":99999999999999999999`},
	{"limit-zero", "v1-pending", `"max_turns":10`, `"max_turns":0`},
	{"limit-negative", "v1-pending", `"max_turns":10`, `"max_turns":-2`},
	{"count-too-high", "v1-pending", `"item_count":8`, `"item_count":9`},
	{"count-too-low", "v1-pending", `"item_count":8`, `"item_count":7`},
	{"count-negative", "v1-pending", `"item_count":8`, `"item_count":-8`},
	{"input-beyond-items", "v1-pending", `"input_items":1`, `"input_items":9`},
	{"saved-beyond-items", "v1-pending", `"saved":0`, `"saved":9`},
	{"held-beyond-saved", "v1-with-session", `"held":[3,4,5]`, `"held":[3,4,50]`},
	{"held-falling", "v1-with-session", `"held":[3,4,5]`, `"held":[4,3,5]`},
	{"digest-of-other-arguments", "v1-decided", `\"amount\" : 1.50`, `\"amount\" : 1000000`},
	{"digest-changed", "v1-decided", `"digest":"0f04`, `"digest":"1f04`},
	{"definition-changed", "v1-decided", `"definition":"95f9`, `"definition":"85f9`},
	{"digest-too-short", "v1-decided", `"digest":"0f04`, `"digest":"0f0`},
	{"digest-in-upper-case", "v1-decided", `"digest":"0f04`, `"digest":"0F04`},
	{"digest-missing", "v1-decided",
		`"digest":"0f04bb72b3b38fce8379a142a369f20100d7b8e53261a499cb015178d8391a3b",`, ``},
	{"unusable-arguments-are-a-question", "v1-decided", `{ \"amount\" : 1.50 }`, `{ \"amount\" : 1.50 `},
	{"call-of-another-tool", "v1-decided", `"id":"c1","tool":"pay"`, `"id":"c1","tool":"look"`},
	{"call-without-item", "v1-decided", `"id":"c1"`, `"id":"c9"`},
	{"call-twice", "v1-decided", `"id":"c1"`, `"id":"c2"`},
	{"call-without-kind", "v1-decided", `"kind":"function","state":"waiting"`, `"state":"waiting"`},
	{"open-call-said-to-be-done", "v1-decided", `"id":"c1","tool":"pay","kind":"function","state":"waiting"`,
		`"id":"c1","tool":"pay","kind":"function","state":"done"`},
	{"done-call-said-to-be-open", "v1-decided", `"tool":"look","state":"done"`,
		`"tool":"look","state":"new","problem":"x"`},
	{"unknown-call-state", "v1-decided", `"state":"waiting"`, `"state":"CANARY"`},
	{"unknown-question", "v1-decided", `"question":"confirm"`, `"question":"CANARY"`},
	{"no-question", "v1-decided", `"question":"confirm",`, ``},
	{"decision-nobody-was-asked-for", "v1-no-turns-left", `"state":"new","definition":"95`,
		`"state":"new","decision":{"approve":true},"definition":"95`},
	{"cleared-by-a-rejection", "v1-decided",
		`"state":"waiting","definition":"` +
			`95f952d15147ffe0b6ee10863d7249da2fd0876c248f0cbe012368665ed4f25b","digest":"a1f0`,
		`"state":"cleared","definition":"` +
			`95f952d15147ffe0b6ee10863d7249da2fd0876c248f0cbe012368665ed4f25b","digest":"a1f0`},
	{"cleared-by-nothing-it-says", "v1-decided", `"question":"confirm",`, `"question":"confirm","always":true,`},
	{"renewed-but-new", "v1-no-turns-left", `"state":"new","definition":"95`,
		`"state":"new","renew":true,"definition":"95`},
	{"approved-with-message", "v1-decided", `{"approve":true}`, `{"approve":true,"message":"x"}`},
	{"approved-with-output", "v1-decided", `{"approve":true}`, `{"approve":true,"output":{"text":"x"}}`},
	{"problem-and-decision", "v1-decided", `"question":"confirm",`, `"question":"confirm","problem":"x",`},
	{"final-and-calls", "v1-decided", `"turn":1,`, `"turn":1,"final_output":"CANARY",`},
	{"calls-forgotten", "v1-no-turns-left", `"calls":[`, `"calls":[],"CANARY":[`},
	{"always-of-nobody", "v1-always", `{"agent":"ops","tool"`, `{"agent":"","tool"`},
	{"always-approve-with-message", "v1-always", `"approve":true}]`, `"approve":true,"message":"x"}]`},
	{"output-without-call", "v1-decided", `"call_id":"c3","output"`, `"call_id":"c7","output"`},
	{"output-twice", "v1-decided", `"call_id":"c3","output"`, `"call_id":"c4","output"`},
	{"call-id-twice", "v1-decided", `"call_id":"c2","name"`, `"call_id":"c1","name"`},
	{"item-unknown-member", "v1-decided", `{"agent":"ops","raw"`, `{"agent":"ops","canary":1,"raw"`},
	{"item-in-two-forms", "v1-decided", `{"agent":"ops","raw"`, `{"agent":"ops","item":{"type":"message"},"raw"`},
	{"item-without-type", "v1-decided", `"raw":{"type":"reasoning",`, `"raw":{`},
	{"item-no-object", "v1-decided", `{"item":{"type":"message","role":"user","content":"Pay."}}`, `"CANARY"`},
	{"items-no-list", "v1-new", `"items":[`, `"items":0,"CANARY":[`},
	{"items-missing", "v1-new", `"items":`, `"itemz":`},
	{"items-twice", "v1-new", `"items":[`, `"items":[],"items":[`},
	{"trailing-data", "v1-new", `}}]}`, `}}]} {}`},
	{"truncated", "v1-new", `"}}]}`, `"}}]`},
	{"raw-control-character", "v1-new", `Pay.`, "Pay\x01"},
	{"invalid-utf8", "v1-new", `Pay.`, "Pay\xff"},
}, agentDamage...)

type damaged struct{ name, from, old, new string }

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(corpus, "negative")
	for _, tt := range damage {
		file := filepath.Join(dir, tt.name+".json")
		if _, err := os.Stat(file); err == nil || !*update {
			continue
		}
		good, err := os.ReadFile(filepath.Join(corpus, tt.from+".json"))
		must(t, err)
		bad := strings.Replace(string(good), tt.old, tt.new, 1)
		if bad == string(good) {
			t.Fatalf("%s: nothing to replace", tt.name)
		}
		must(t, os.WriteFile(file, []byte(bad), 0o644))
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	must(t, err)
	if len(files) != len(damage) {
		t.Errorf("%d damaged states, want %d; run with -update", len(files), len(damage))
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		must(t, err)
		_, err = agent.DecodeRunState(data, rootOf(data))
		e, ok := errors.AsType[*agent.SchemaError](err)
		if !ok {
			t.Errorf("%s: got %v, want a SchemaError", file, err)
			continue
		}
		for _, secret := range []string{"CANARY", "Pay", "frozen", "amount"} {
			if strings.Contains(e.Error(), secret) {
				t.Errorf("%s: the error tells data: %v", file, e)
			}
		}
	}
}

func TestDecodeOfOtherAgents(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join(corpus, "v1-partly-decided.json"))
	must(t, err)
	other := corpusAgent()
	other.Name = "finance"
	if _, err := agent.DecodeRunState(data, other); !errors.Is(err, agent.ErrUnknownAgent) {
		t.Errorf("another agent: got %v", err)
	}
	without := corpusAgent()
	without.Tools = without.Tools[1:]
	s, err := agent.DecodeRunState(data, without)
	if !errors.Is(err, agent.ErrUnknownTool) || s == nil {
		t.Fatalf("without the tool: got %v", err)
	}
	// What nobody can run any more can still be rejected.
	for _, in := range s.Undecided() {
		must(t, s.Reject(in, agent.RejectOptions{}))
	}
	res, err := new(agent.Runner).Resume(t.Context(), without, s, agent.RunOptions{})
	if err != nil || res.FinalOutput != "Done." {
		t.Errorf("got %v", err)
	}
	if _, err := agent.DecodeRunState(data, nil); !errors.Is(err, agent.ErrConfig) {
		t.Errorf("without an agent: got %v", err)
	}
}

// TestSavedInAnyForm proves that a state may be stored compact, indented, with escaped HTML, or as head and chunks.
func TestSavedInAnyForm(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join(corpus, "v1-decided.json"))
	must(t, err)
	s := decode(t, data)
	escaped, err := json.Marshal(s)
	must(t, err)
	if bytes.Equal(escaped, data) {
		t.Error("control: json.Marshal was expected to escape <two>")
	}
	var indented bytes.Buffer
	must(t, json.Indent(&indented, data, "", "\t"))
	for _, form := range [][]byte{escaped, indented.Bytes()} {
		got := decode(t, form)
		if diff := gocmp.Diff(list(s.Interruptions()), list(got.Interruptions())); diff != "" {
			t.Error(diff)
		}
		if diff := gocmp.Diff(describe(s.Items()), describe(got.Items())); diff != "" {
			t.Error(diff)
		}
	}
	for from := range len(s.Items()) + 1 {
		old, err := s.Delta(0)
		must(t, err)
		d, err := s.Delta(from)
		must(t, err)
		if d.From != from || d.From+d.Count != len(s.Items()) || (d.Items == nil) != (d.Count == 0) {
			t.Errorf("delta from %d: %d+%d", from, d.From, d.Count)
		}
		var all []json.RawMessage
		must(t, json.Unmarshal(old.Items, &all))
		first, err := json.Marshal(all[:from])
		must(t, err)
		chunks := []json.RawMessage{first}
		if d.Count > 0 {
			chunks = append(chunks, d.Items)
		}
		got, err := (&agent.SavedState{Head: d.Head, Chunks: chunks}).Decode(corpusAgent())
		must(t, err)
		if diff := gocmp.Diff(describe(s.Items()), describe(got.Items())); diff != "" {
			t.Error(diff)
		}
		if d.Count == 0 {
			continue
		}
		if _, err := (&agent.SavedState{Head: d.Head, Chunks: chunks[:1]}).Decode(corpusAgent()); err == nil {
			t.Error("missing items were not noticed")
		}
		more := append(chunks, json.RawMessage(`[{"item":{"type":"message","role":"user","content":"late"}}]`))
		got, err = (&agent.SavedState{Head: d.Head, Chunks: more}).Decode(corpusAgent())
		must(t, err)
		if len(got.Items()) != len(s.Items()) {
			t.Error("items beyond the head's count were not dropped")
		}
	}
	if _, err := s.Delta(len(s.Items()) + 1); !errors.Is(err, agent.ErrConfig) {
		t.Errorf("delta beyond the end: got %v", err)
	}
}

// FuzzDecode checks that no data makes the decoder panic or accept a state that cannot be written, read and resumed.
func FuzzDecode(f *testing.F) {
	for _, pattern := range []string{"*.json", "negative/*.json"} {
		files, err := filepath.Glob(filepath.Join(corpus, pattern))
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a := rootOf(data)
		s, err := agent.DecodeRunState(data, a)
		if err != nil {
			return
		}
		again, err := s.MarshalJSON()
		must(t, err)
		same, err := agent.DecodeRunState(again, a)
		if err != nil {
			t.Fatalf("cannot read what was written: %v", err)
		}
		if third, err := same.MarshalJSON(); err != nil || !bytes.Equal(again, third) {
			t.Fatalf("written otherwise the second time: %v\n%s\n%s", err, again, third)
		}
		for _, in := range s.Undecided() {
			if err := s.Approve(in, frozenAnswer(in)); err != nil { // it asks its tool for what that does not ask for
				must(t, s.Reject(in, agent.RejectOptions{}))
			}
		}
		res, err := (&agent.Runner{}).Resume(t.Context(), a, s, agent.RunOptions{})
		if err == nil && !res.State.Finished() && len(res.Interruptions) == 0 {
			t.Error("neither finished nor waiting")
		}
	})
}
