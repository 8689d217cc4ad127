package bot

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

// arrival is what Slack handed over, as far as its workspace is concerned.
type arrival struct {
	kind string // of what: "event app_mention", "click", "form", "shortcut", "command"
	from origin
	hook secretURL // where an answer may go; empty: nowhere
	form bool

	removal *eventPayload // of the app; nil: it is something else
}

// take hands a payload over to the bot of its workspace. What belongs to a workspace without one is told so, wherever
// Slack takes an answer without a token.
func (w *Workspaces) take(kind string, payload json.RawMessage, back receipts) {
	a, err := readArrival(kind, payload)
	if err != nil {
		w.log.Warn("a delivery was dropped", "kind", label(kind, 40), "reason", err)
		w.front.acknowledge(back, nil)
		return
	}
	switch ws, r := w.of(a.from); {
	case r != nil && a.removal != nil:
		w.takeRemoval(ws, r, *a.removal, back)
		return
	case r != nil:
		r.take(kind, payload, back)
		return
	case a.removal != nil: // it is gone already
		w.front.acknowledge(back, nil)
		return
	}
	w.log.Warn("a delivery is of a workspace in which the app is not installed", "what", a.kind,
		"workspaces", a.from.teams, "organisations", a.from.enterprises)
	w.refuse(a, back)
}

func readArrival(kind string, payload json.RawMessage) (a arrival, err error) {
	switch kind {
	case kindEvent:
		var p eventPayload
		err = decode(payload, &p)
		a = arrival{kind: "event " + label(p.Event.Type, 40), from: p.origin()}
		if p.Event.Type == "app_uninstalled" || p.Event.Type == "tokens_revoked" {
			a.removal = &p
		}
	case kindCommand:
		var c command
		err = decode(payload, &c)
		a = arrival{kind: kind, from: c.origin(), hook: c.ResponseURL}
	default:
		var i interaction
		i, err = readInteraction(payload)
		a = arrival{kind: label(i.Type, 40), from: i.origin(), hook: i.ResponseURL, form: i.Type == "view_submission"}
	}
	return a, err
}

// of returns the bot of where a payload comes from: of the workspace, or of the organisation in the whole of which the
// app is installed. nil: the app is in neither.
func (w *Workspaces) of(from origin) (approvals.WorkspaceID, *resident) {
	for _, find := range []func(approvals.WorkspaceID) *resident{w.resident, w.learnt} {
		for _, id := range slices.Concat(from.teams, from.enterprises) {
			if r := find(approvals.WorkspaceID(id)); r != nil && id != "" {
				return approvals.WorkspaceID(id), r
			}
		}
	}
	return "", nil
}

// refuse acknowledges with words.
func (w *Workspaces) refuse(a arrival, back receipts) {
	words := wordsNotInstalled(w.install.at(PathInstall))
	switch {
	case a.kind == kindCommand:
		w.front.acknowledge(back, map[string]string{"response_type": "ephemeral", "text": words.fallback()})
		return
	case a.form:
		w.front.acknowledge(back, map[string]any{"response_action": "update", "view": wordsView(words)})
		return
	}
	w.front.acknowledge(back, nil)
	w.mu.Lock()
	defer w.mu.Unlock()
	if a.hook == "" || w.ctx == nil {
		return
	}
	ctx := context.WithoutCancel(w.ctx)
	w.running.Go(func() {
		said := hookMessage{Text: words.fallback(), Blocks: []slack.Block{paragraph(words)}}
		if err := w.hooks.send(ctx, a.hook, said); err != nil {
			w.log.Warn("a person could not be told that the app is not installed", "error", err)
		}
	})
}
