package app_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/invariant"
)

// opened returns the store of the program, which has ended.
func (w *world) opened() approvals.Store {
	w.t.Helper()
	st := w.openStore()
	w.t.Cleanup(func() { st.Close() })
	return st
}

// check looks at everything from outside, and has the records judged.
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
	k.verified()
	found, err := invariant.Check(k.t.Context(), k.opened(), k.seen())
	if err != nil {
		k.t.Fatal(err)
	}
	for _, v := range found {
		k.t.Error(v)
	}
}

// seen is what the world outside has seen.
func (k *killing) seen() *invariant.World {
	k.t.Helper()
	s := &invariant.World{Workspaces: []approvals.WorkspaceID{"T0DEV"}, Clicks: k.clicks, CardsSeen: true,
		AnswersSeen: true, Ungated: []string{"current_time"}, Secrets: canaries, Told: map[string]string{}}
	for _, e := range k.effects.all() {
		s.Effects = append(s.Effects, invariant.Effect{Key: e.key, Tool: strings.TrimPrefix(e.path, "/"),
			Arguments: e.body})
	}
	for _, m := range k.slack.Messages(general) {
		switch {
		case isCard(m):
			s.Cards = append(s.Cards, invariant.Card{Request: requestOf(m), Where: m.ThreadTS, Shown: m.Shown(),
				Decides: decidable(m)})
		case m.User == k.slack.Config().App.BotUserID && strings.HasPrefix(m.Shown(), "answer:"):
			s.Answers = append(s.Answers, invariant.Answer{Channel: general, Thread: m.ThreadTS, Text: m.Shown()})
		}
	}
	for _, r := range k.model.Requests() {
		var items []agent.Item
		for _, raw := range r.Items() {
			var it struct {
				Type   agent.ItemType `json:"type"`
				CallID string         `json:"call_id"`
			}
			if err := json.Unmarshal(raw, &it); err != nil {
				k.t.Fatal(err)
			}
			items = append(items, agent.Item{Type: it.Type, CallID: it.CallID})
		}
		s.Asked = append(s.Asked, items)
	}
	for i, o := range k.outputs {
		s.Told[fmt.Sprint("output ", i+1)] = o()
	}
	return s
}
