package app_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strings"
)

// check looks at everything from outside.
func (k *killing) check() {
	k.t.Helper()
	if calls := k.effects.all(); len(calls) > 1 || len(calls) == 1 && calls[0].body != `{"amount":40,"to":"acct"}` {
		k.t.Errorf("at most once: %d effects, %q", len(calls), bodies(calls))
	}
	answers := 0
	for _, s := range k.said(k.thread) {
		if strings.HasPrefix(s, "answer:") {
			answers++
		}
	}
	if answers != 1 {
		k.t.Errorf("%d answers, want 1:\n%s", answers, k.transcript())
	}
	k.checkCards()
	k.checkModel()
	k.checkTrail()
	k.verified()
}

// checkCards wants one card per request, and nothing to decide on any of them.
func (k *killing) checkCards() {
	k.t.Helper()
	seen := make(map[string]int)
	for _, c := range k.cards(k.thread) {
		seen[fmt.Sprint(c.Metadata.EventPayload["request"])]++
		if decidable(c) {
			k.t.Errorf("a card still asks:\n%s", c.Shown())
		}
	}
	for id, n := range seen {
		if n != 1 {
			k.t.Errorf("request %s has %d cards", id, n)
		}
	}
}

// checkModel wants exactly one output for each call in every request.
func (k *killing) checkModel() {
	k.t.Helper()
	for _, r := range k.model.Requests() {
		calls, outputs := make(map[string]int), make(map[string]int)
		for _, raw := range r.Items() {
			var it struct {
				Type   string `json:"type"`
				CallID string `json:"call_id"`
			}
			if err := json.Unmarshal(raw, &it); err != nil {
				k.t.Fatal(err)
			}
			switch it.Type {
			case "function_call":
				calls[it.CallID]++
			case "function_call_output":
				outputs[it.CallID]++
			}
		}
		for id, n := range calls {
			if n != 1 || outputs[id] != 1 {
				k.t.Errorf("request %d: call %s is there %d times with %d outputs", r.N, id, n, outputs[id])
			}
		}
	}
}

// checkTrail wants acknowledged decisions in the trail, and no execution before its approval.
func (k *killing) checkTrail() {
	k.t.Helper()
	out, complaint, code := k.run("audit", "export")
	if code != 0 {
		k.t.Fatalf("audit export: %d %s", code, complaint)
	}
	approved := make(map[string]bool)
	for lines := bufio.NewScanner(strings.NewReader(out)); lines.Scan(); {
		var e struct{ Action, Request string }
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			k.t.Fatal(err)
		}
		switch e.Action {
		case "request.approved":
			approved[e.Request] = true
		case "effect.intent":
			if !approved[e.Request] {
				k.t.Errorf("an effect of request %q began before its approval", e.Request)
			}
		}
	}
	if k.accepted && len(approved) == 0 {
		k.t.Error("an acknowledged approval is not in the trail")
	}
	if len(k.effects.all()) > 0 && len(approved) == 0 {
		k.t.Error("something ran without an approval in the trail")
	}
}
