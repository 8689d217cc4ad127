package app_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/invariant"
	"countersign/internal/slackdev"
)

// judged ends a story in which something broke: once the bots that are left are at rest it stops them, and has the
// records and all that the world outside has seen judged by the invariants of docs/reliability.md.
func (w *world) judged(bots ...*process) {
	w.t.Helper()
	w.judgedBy(func(*invariant.World) {}, bots...)
}

// judgedBy is judged where the test knows better what was to be seen.
func (w *world) judgedBy(knows func(*invariant.World), bots ...*process) {
	w.t.Helper()
	w.rest()
	resources := w.resources(bots...)
	for _, p := range bots {
		if code := p.stop(); code != 0 {
			w.t.Errorf("exit code %d after SIGTERM", code)
		}
	}
	w.verified()
	w.must("audit", "export", "--json")
	w.must("approvals", "list", "--json", "--status", "all")
	st := w.openStore()
	defer st.Close()
	s := w.seen()
	s.Delivered, s.Resources = true, resources
	knows(s)
	found, err := invariant.Check(w.ctx, st, s)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, v := range found {
		w.t.Error(v)
	}
}

// noticed is what the test itself has seen of what people did.
type noticed struct {
	clicks   []invariant.Click  // that somebody was told are taken
	deciders []approvals.UserID // who has answered at all
}

// decider notes that the user is about to answer.
func (w *world) decider(user string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if id := approvals.NewUserID(w.team(), user); !slices.Contains(w.noticed.deciders, id) {
		w.noticed.deciders = append(w.noticed.deciders, id)
	}
}

// taken notes that the user was told that an answer is taken.
func (w *world) taken(user string, id approvals.RequestID, v approvals.Verdict) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.noticed.clicks = append(w.noticed.clicks,
		invariant.Click{Request: id, By: approvals.NewUserID(w.team(), user), Verdict: v})
}

// decides answers the request of a card from the command line. The words are those of the flag: "mark-done".
func (w *world) decides(user string, card slackdev.Message, verdict string, reason ...string) {
	w.t.Helper()
	id := requestOf(card)
	w.decider(user)
	args := []string{"approvals", "decide", string(id), "--" + verdict, "--as", user}
	if len(reason) > 0 {
		args = append(args, "--reason", strings.Join(reason, " "))
	}
	w.must(args...)
	w.taken(user, id, approvals.Verdict(strings.ReplaceAll(verdict, "-", "_")))
}

func (w *world) team() approvals.WorkspaceID { return approvals.WorkspaceID(w.slack.Config().Team.ID) }

func requestOf(card slackdev.Message) approvals.RequestID {
	return approvals.RequestID(fmt.Sprint(card.Metadata.EventPayload["request"]))
}

// seen is what the world outside has seen.
func (w *world) seen() *invariant.World {
	w.t.Helper()
	w.mu.Lock()
	s := &invariant.World{Workspaces: []approvals.WorkspaceID{w.team()}, Clicks: slices.Clone(w.noticed.clicks),
		CardsSeen: true, AnswersSeen: true, Ungated: []string{"current_time"}, Secrets: w.secrets, Hidden: w.hidden,
		Forbidden: w.forbidden, Deciders: append([]approvals.UserID{}, w.noticed.deciders...)}
	w.mu.Unlock()
	s.Told, s.Held = w.places()
	if w.store != "" {
		s.Held["the database"] = w.stored()
	}
	for _, e := range w.effects.all() {
		s.Effects = append(s.Effects, invariant.Effect{Key: e.key, Tool: strings.TrimPrefix(e.path, "/"),
			Arguments: e.arguments()})
	}
	for _, m := range w.slack.Messages(general) {
		switch {
		case isCard(m):
			s.Cards = append(s.Cards, invariant.Card{Request: requestOf(m), Where: m.ThreadTS, Shown: m.Shown(),
				Decides:   decidable(m),
				Withdrawn: strings.HasPrefix(m.Shown(), "This is a copy of a card that is no longer in use")})
		case m.User == w.slack.Config().App.BotUserID && strings.HasPrefix(m.Shown(), "answer:"):
			s.Answers = append(s.Answers, invariant.Answer{Channel: general, Thread: m.ThreadTS, Text: m.Shown()})
		}
	}
	for _, r := range w.model.Requests() {
		var items []agent.Item
		for _, raw := range r.Items() {
			it, err := agent.ParseItem(raw)
			if err != nil {
				w.t.Fatal(err)
			}
			items = append(items, it)
		}
		s.Asked = append(s.Asked, items)
	}
	return s
}

// arguments are those of the call: all of what a tool is sent, and a part of what goes to a system that carries a call
// out.
func (e effect) arguments() string {
	var sent struct {
		Effect    string `json:"effect_id"`
		Arguments json.RawMessage
	}
	if err := json.Unmarshal([]byte(e.body), &sent); err == nil && sent.Effect != "" {
		return string(sent.Arguments)
	}
	return e.body
}

// places are where secrets might be, by their names: told is what was printed, or sent to Slack, held is what holds
// calls with their arguments.
func (w *world) places() (told, held map[string]string) {
	w.t.Helper()
	told, held = map[string]string{}, map[string]string{}
	for i, o := range w.outputs {
		told[fmt.Sprintf("output %d", i)] = o()
	}
	calls, err := json.Marshal(w.slack.Calls())
	if err != nil {
		w.t.Error(err)
	}
	told["calls of Slack"] = string(calls)
	var requests strings.Builder
	for _, r := range w.model.Requests() {
		requests.Write(r.Body)
	}
	held["requests to the model"] = requests.String()
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		w.t.Error(err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		data, err := os.ReadFile(filepath.Join(w.dir, e.Name()))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			w.t.Error(err)
		}
		held[e.Name()] = string(data)
	}
	return told, held
}
