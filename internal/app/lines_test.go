package app_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/internal/openaidev"
)

// What people, the model and tools write in the stories, which no line may hold.
const (
	privateText     = "PRIVATE-text"
	privateArgument = "PRIVATE-argument"
	privateReason   = "PRIVATE-reason"
	privateAnswer   = "PRIVATE-answer"
)

var (
	action = regexp.MustCompile(`^[a-z]+\.[a-z_]+$`)
	made   = regexp.MustCompile(`\b(run|req|dec|aud|grant|ntf)_[0-9a-z]{26}`)
)

// event is what a line of the log says: its message and its keys.
type event map[string]any

// events are the lines of what happens, oldest first, at the level.
func events(t *testing.T, log, level string) (all []event) {
	t.Helper()
	for line := range strings.Lines(log) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Errorf("%v: no line of JSON: %s", err, line)
			continue
		}
		if msg, _ := e["msg"].(string); e["level"] == level && action.MatchString(msg) {
			all = append(all, e)
		}
	}
	return all
}

// String is the event without its time, and with the kind of an id instead of the id.
func (e event) String() string {
	text := fmt.Sprint(e["msg"])
	for _, key := range slices.Sorted(maps.Keys(e)) {
		switch key {
		case "time", "level", "msg":
		case "effect":
			text += " effect"
		default:
			text += " " + key + "=" + made.ReplaceAllString(fmt.Sprint(e[key]), "$1")
		}
	}
	return text
}

// lines waits until the log has the event so often, and returns all events.
func (p *process) lines(last string, times int) []event {
	p.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		all := events(p.t, p.out.String(), "INFO")
		n := 0
		for _, e := range all {
			if e["msg"] == last {
				n++
			}
		}
		if n >= times {
			return all
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%d lines of %s, want %d:\n%s", n, last, times, p.out.String())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// privately are rules of a model that writes what no line may hold.
func privately() []openaidev.Rule {
	return []openaidev.Rule{
		{User: `pay (\d+) privately`, Round: 0, Reply: openaidev.Reply{Calls: []openaidev.Call{
			{Name: "pay", Arguments: `{"amount":$1,"to":"` + privateArgument + `"}`}}}},
		{User: `pay (\d+) privately`, Round: 1, Reply: openaidev.Reply{Text: privateAnswer}},
	}
}

// TestLines compares what is logged of stories, and finds in it nothing that anybody wrote.
func TestLines(t *testing.T) {
	t.Parallel()
	const (
		begun = "run.submitted actor=T0DEV/U0ANN agent=ops run=run workspace=T0DEV"
		done  = "run.done actor=system run=run status=done turns=2 workspace=T0DEV"
		asked = "request.created actor=system agent=ops kind=confirm policy=default_policy quorum=1 request=req " +
			"run=run tool=pay workspace=T0DEV"
		intent = "effect.intent actor=system agent=ops attempt=1 effect policy=default_policy request=req run=run " +
			"tool=pay workspace=T0DEV"
	)
	of := func(action, actor, more string) string {
		return action + " actor=" + actor + " agent=ops " + more + " workspace=T0DEV"
	}
	for _, c := range []struct {
		name  string
		say   string // the mention
		tell  func(w *world)
		after string // the last line
		want  []string
	}{
		{"nothing to approve", "pay 1 privately", nil, "run.done", []string{begun,
			"effect.intent actor=system attempt=1 effect run=run tool=pay workspace=T0DEV",
			"effect.done actor=system attempt=1 effect outcome=ran run=run tool=pay workspace=T0DEV", done}},
		{"approved", "pay 5 privately", func(w *world) {
			w.must("approvals", "decide", w.pending(), "--approve", "--reason", privateReason, "--as", ben)
		}, "run.done", []string{begun, asked,
			of("decision.recorded", "T0DEV/U0BEN", "decision=dec policy=default_policy request=req run=run tool=pay "+
				"verdict=approve via=cli"),
			of("request.approved", "T0DEV/U0BEN", "policy=default_policy request=req run=run status=approved tool=pay"),
			intent, strings.NewReplacer("intent", "done", "effect policy", "effect outcome=ran policy").Replace(intent),
			done}},
		{"refused, then rejected", "pay 5 privately", func(w *world) {
			id := w.pending()
			if _, _, code := w.run("approvals", "decide", id, "--approve", "--as", ann); code != 1 {
				w.t.Errorf("the requester approves: %d", code)
			}
			w.must("approvals", "decide", id, "--reject", "--reason", privateReason, "--as", ben)
		}, "run.done", []string{begun, asked,
			of("decision.refused", "T0DEV/U0ANN", "policy=default_policy request=req run=run tool=pay verdict=approve "+
				"via=cli why=unauthorized"),
			of("decision.recorded", "T0DEV/U0BEN", "decision=dec policy=default_policy request=req run=run tool=pay "+
				"verdict=reject via=cli"),
			of("request.rejected", "T0DEV/U0BEN", "policy=default_policy request=req run=run status=rejected tool=pay"),
			done}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, settings{rules: privately()})
			p := w.start("COUNTERSIGN_LOG_FORMAT=json")
			thread := w.mention(c.say + " " + privateText)
			seen := map[string]func() string{ // the control: where each of them is
				privateText:   w.stored,
				privateAnswer: w.transcript,
			}
			if c.tell != nil {
				w.card(thread, 1)
				shown := w.must("approvals", "show", w.pending())
				seen[privateArgument] = func() string { return shown }
				seen[privateReason] = seen[privateText]
				c.tell(w)
			}
			w.answer(thread, privateAnswer)
			var have []string
			for _, e := range p.lines(c.after, 1) {
				have = append(have, e.String())
			}
			for i := range c.want {
				c.want[i] = strings.ReplaceAll(c.want[i], "via=cli", "via="+w.via())
			}
			if diff := cmp.Diff(c.want, have); diff != "" {
				t.Errorf("lines (-want +have):\n%s", diff)
			}
			p.stop()
			for what, where := range seen {
				if !strings.Contains(where(), what) {
					t.Errorf("the control: %s is not where it has to be", what)
				}
				if strings.Contains(p.out.String(), what) {
					t.Errorf("the log holds %s:\n%s", what, p.out.String())
				}
			}
		})
	}
}
