package slackdev

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Click uses a button, select or other element as a person and waits for the
// acknowledgement. Errors are what the person sees: ErrTrouble without an
// acknowledgement in time, ErrNoElement for a button that is not there (any
// more), ErrNotMember for somebody outside the channel.
func (w *Workspace) Click(ctx context.Context, click Click) error {
	w.mu.Lock()
	payload, viewID, err := w.blockActions(click)
	if err == nil {
		payload["trigger_id"] = w.newTrigger(click.User, viewID)
	}
	w.mu.Unlock()
	if err != nil {
		return fmt.Errorf("click %s: %w", click.ActionID, err)
	}
	return w.ClickRaw(ctx, payload)
}

// Payload returns the block_actions payload a click would send, without a
// trigger id. Tests keep it to send a click late, twice or altered, with
// [Workspace.ClickRaw].
func (w *Workspace) Payload(click Click) (map[string]any, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	payload, _, err := w.blockActions(click)
	if err != nil {
		return nil, err
	}
	// A round trip makes plain maps and slices of everything in it.
	var plain map[string]any
	return plain, json.Unmarshal(encode(payload), &plain)
}

// ClickRaw delivers an interactive payload as it is, forged or not, and waits
// for the acknowledgement. A missing trigger_id is filled in.
func (w *Workspace) ClickRaw(ctx context.Context, payload map[string]any) error {
	sent := maps.Clone(payload)
	if _, ok := sent["trigger_id"]; !ok {
		user, _ := sent["user"].(map[string]any)
		sent["trigger_id"] = w.NewTrigger(str(user["id"]))
	}
	kind := str(sent["type"])
	_, err := w.ask(ctx, envelope{
		kind: kindInteractive, inner: kind, payload: encode(sent), accepts: kind == "view_submission",
	})
	return err
}

// blockActions builds the payload of a click; viewID is the modal it happened
// in. w.mu is held.
func (w *Workspace) blockActions(click Click) (payload map[string]any, viewID string, err error) {
	u, err := w.signedIn(click.User)
	if err != nil {
		return nil, "", err
	}
	payload = w.interaction("block_actions", u)
	var blocks json.RawMessage
	if click.TS != "" {
		blocks, err = w.clickedMessage(click, payload)
	} else {
		blocks, viewID, err = w.clickedView(click, payload)
	}
	if err != nil {
		return nil, "", err
	}
	el, err := findElement(blocks, click)
	if err != nil {
		return nil, "", err
	}
	state := click.State
	if el.stateful() && click.Value != "" {
		state = withValue(state, el, click.Value)
	}
	values, err := stateOf(blocks, state)
	if err != nil {
		return nil, "", err
	}
	if view, ok := payload["view"].(map[string]any); ok {
		view["state"] = map[string]any{"values": values}
	}
	payload["state"] = map[string]any{"values": values}
	action, err := el.action(click, values)
	payload["actions"] = []any{action}
	return payload, viewID, err
}

// interaction is what every interactive payload begins with. w.mu is held.
func (w *Workspace) interaction(kind string, u *User) map[string]any {
	payload := map[string]any{
		"type": kind, "token": "dev", "api_app_id": w.cfg.App.ID, "is_enterprise_install": w.cfg.OrgInstall,
		"enterprise": w.enterprise(), "team": map[string]any{"id": w.cfg.Team.ID, "domain": w.cfg.Team.Domain},
		"user": map[string]any{"id": u.ID, "username": u.Name, "name": u.Name, "team_id": u.TeamID},
	}
	if w.cfg.OrgInstall {
		payload["team"] = nil // so that apps key an installation by its enterprise
	}
	return payload
}

// submittedFrom names the workspace of the person as the team of a form: that of a click is where the app is installed,
// that of a form is where whoever submits it is, and only view.app_installed_team_id says where the app is installed:
// https://github.com/slackapi/bolt-js/issues/1614.
func (w *Workspace) submittedFrom(payload map[string]any, u *User) {
	if u.TeamID != w.cfg.Team.ID {
		payload["team"] = map[string]any{"id": u.TeamID, "domain": strings.ToLower(u.TeamID)}
	}
}

func (w *Workspace) enterprise() any {
	if w.cfg.Team.EnterpriseID == "" {
		return nil
	}
	return map[string]any{"id": w.cfg.Team.EnterpriseID, "name": w.cfg.Team.Name}
}

func (w *Workspace) clickedMessage(click Click, payload map[string]any) (json.RawMessage, error) {
	_, c, err := w.member(click.User, click.Channel)
	if err != nil {
		return nil, err
	}
	m := w.findMessage(click.Channel, click.TS, click.User)
	if m == nil {
		return nil, fmt.Errorf("message %s in %s: %w", click.TS, click.Channel, ErrNoMessage)
	}
	if m.BotID != w.cfg.App.BotID {
		return nil, fmt.Errorf("message %s is not the app's: %w", click.TS, ErrNoElement)
	}
	container := map[string]any{
		"type": "message", "message_ts": m.TS, "channel_id": c.ID, "is_ephemeral": m.Ephemeral,
	}
	if m.ThreadTS != "" {
		container["thread_ts"] = m.ThreadTS
	}
	payload["container"] = container
	payload["channel"] = map[string]any{"id": c.ID, "name": c.label()}
	payload["response_url"] = w.newResponseURL("actions", click.User, m.Channel, m.TS, m.ThreadTS)
	if !m.Ephemeral {
		payload["message"] = w.messageObject(c, m, true)
	}
	return m.Blocks, nil
}

// clickedView finds the view named, or else the top modal or the Home tab that
// has such an element.
func (w *Workspace) clickedView(click Click, payload map[string]any) (json.RawMessage, string, error) {
	candidates := []string{w.homes[click.User]}
	if stack := w.stacks[click.User]; len(stack) > 0 {
		candidates = []string{stack[len(stack)-1], w.homes[click.User]}
	}
	err := fmt.Errorf("view of %s: %w", click.User, ErrNoView)
	for _, id := range candidates {
		v, ok := w.views[id]
		if !ok || click.ViewID != "" && click.ViewID != id {
			continue
		}
		if _, err = findElement(v.Blocks, click); err != nil {
			continue
		}
		payload["view"] = w.viewObject(v, nil)
		payload["container"] = map[string]any{"type": "view", "view_id": v.ID}
		if v.Type == "home" {
			return v.Blocks, "", nil
		}
		return v.Blocks, v.ID, nil
	}
	return nil, "", err
}

func findElement(blocks json.RawMessage, click Click) (element, error) {
	for _, el := range interactive(blocks) {
		switch {
		case el.actionID() != click.ActionID, click.BlockID != "" && click.BlockID != el.blockID:
		case el.kind() == "button" && click.Value != "" && str(el.def["value"]) != click.Value:
		case el.kind() == "overflow" && click.Value != "" && !slices.Contains(el.values(), click.Value):
		default:
			return el, nil
		}
	}
	return element{}, fmt.Errorf("element %s: %w", click.ActionID, ErrNoElement)
}

func withValue(state map[string]map[string]any, el element, value string) map[string]map[string]any {
	out := maps.Clone(state)
	if out == nil {
		out = map[string]map[string]any{}
	}
	inner := maps.Clone(out[el.blockID])
	if inner == nil {
		inner = map[string]any{}
	}
	inner[el.actionID()] = value
	out[el.blockID] = inner
	return out
}

// action is the entry in the actions of a block_actions payload.
func (e element) action(click Click, values map[string]map[string]any) (map[string]any, error) {
	out := map[string]any{
		"type": e.kind(), "action_id": e.actionID(), "block_id": e.blockID,
		"action_ts": strconv.FormatFloat(float64(time.Now().UnixMicro())/1e6, 'f', 6, 64),
	}
	if e.stateful() {
		entry, _ := values[e.blockID][e.actionID()].(map[string]any)
		maps.Copy(out, entry)
		return out, nil
	}
	if e.kind() == "overflow" {
		opt, err := e.option(click.Value)
		out["selected_option"] = opt
		return out, err
	}
	for _, key := range []string{"text", "value", "style", "url"} {
		if v, ok := e.def[key]; ok {
			out[key] = v
		}
	}
	return out, nil
}

// Submit presses the submit button of the person's top modal. The answer is
// what the app returned: nil when it accepted (the modal is closed), or a map
// with response_action errors, update, push or clear, already applied. values
// are texts by block and action id, option values for selects, lists of them
// for multi-selects. ErrInvalidInput means that Slack's client would not have
// submitted at all.
func (w *Workspace) Submit(
	ctx context.Context, user, viewID string, values map[string]map[string]any,
) (map[string]any, error) {
	w.mu.Lock()
	env, viewID, err := w.submission(user, viewID, values)
	before, late := len(w.calls), w.late
	w.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("submit: %w", err)
	}
	ack, err := w.ask(ctx, env)
	if err == nil {
		err = w.WaitFor(ctx, func() bool { return w.answeredSince(before, "views.update") >= late })
	}
	if err != nil {
		return nil, fmt.Errorf("submit: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.touch()
	answer, err := w.applyAnswer(viewID, ack)
	if err != nil {
		return nil, fmt.Errorf("submit: %w: %w", ErrTrouble, err)
	}
	return answer, nil
}

// submission is what pressing the submit button of the person's top modal delivers, and the id of that.
func (w *Workspace) submission(user, viewID string, values map[string]map[string]any) (envelope, string, error) {
	u, err := w.signedIn(user)
	if err != nil {
		return envelope{}, "", err
	}
	v, err := w.topView(user, viewID)
	if err != nil {
		return envelope{}, "", err
	}
	if v.SubmitLabel == "" {
		return envelope{}, "", fmt.Errorf("the modal has no submit button: %w", ErrNoElement)
	}
	state, err := stateOf(v.Blocks, values)
	if err != nil {
		return envelope{}, "", err
	}
	for _, el := range interactive(v.Blocks) {
		if !el.stateful() {
			continue
		}
		entry, _ := state[el.blockID][el.actionID()].(map[string]any)
		if err := el.accept(entry); err != nil {
			return envelope{}, "", err
		}
	}
	payload := w.interaction("view_submission", u)
	w.submittedFrom(payload, u)
	payload["trigger_id"] = w.newTrigger(user, v.ID)
	payload["view"] = w.viewObject(v, state)
	payload["response_urls"] = []any{}
	env := envelope{kind: kindInteractive, inner: "view_submission", accepts: true, payload: encode(payload)}
	return env, v.ID, nil
}

// topView finds the modal a person looks at.
func (w *Workspace) topView(user, viewID string) (*View, error) {
	stack := w.stacks[user]
	if len(stack) == 0 || viewID != "" && stack[len(stack)-1] != viewID {
		return nil, fmt.Errorf("modal %s of %s: %w", viewID, user, ErrNoView)
	}
	return w.views[stack[len(stack)-1]], nil
}

// applyAnswer does what the answer to a view_submission says. w.mu is held.
func (w *Workspace) applyAnswer(viewID string, ack json.RawMessage) (map[string]any, error) {
	v, open := w.views[viewID]
	var answer map[string]any
	if len(ack) > 0 && json.Unmarshal(ack, &answer) != nil {
		return nil, fmt.Errorf("the answer is no object")
	}
	if len(answer) == 0 {
		if open {
			w.closeView(v)
		}
		return nil, nil
	}
	if !open {
		return answer, nil
	}
	switch action := str(answer["response_action"]); action {
	case "errors":
		return answer, checkErrors(v, answer["errors"])
	case "clear":
		w.closeAll(v.User)
		return answer, nil
	case "update", "push":
		def, err := w.checkView(answer["view"], "modal")
		if err != nil {
			return nil, err
		}
		if err := w.showAnswered(v, action, def); err != nil {
			return nil, err
		}
		return answer, nil
	default:
		return nil, fmt.Errorf("response_action %q", action)
	}
}

// showAnswered puts the view of an answer into the place of the one that was submitted, or on top of it.
func (w *Workspace) showAnswered(v *View, action string, def map[string]any) error {
	self := v
	if action == "push" {
		self = nil
	}
	if err := w.externalFree(def, self); err != nil {
		return err
	}
	switch {
	case action == "update":
		w.redefine(v, def)
	case len(w.stacks[v.User]) >= maxViewDepth:
		return fail("push_limit_reached")
	default:
		w.push(v.User, def)
	}
	return nil
}

// checkErrors accepts errors only for input blocks, as Slack does.
func checkErrors(v *View, errs any) error {
	m, ok := errs.(map[string]any)
	if !ok || len(m) == 0 {
		return fmt.Errorf("errors is empty")
	}
	var inputs []string
	for _, el := range interactive(v.Blocks) {
		if el.input != nil {
			inputs = append(inputs, el.blockID)
		}
	}
	for block, message := range m {
		if _, isText := message.(string); !isText || !slices.Contains(inputs, block) {
			return fmt.Errorf("errors names %q, which is no input block", block)
		}
	}
	return nil
}

// CloseView closes the person's top modal; all closes every one. The app is
// told with view_closed when the view asked for it; the person sees no error
// either way.
func (w *Workspace) CloseView(ctx context.Context, user, viewID string, all bool) error {
	w.mu.Lock()
	v, err := w.topView(user, viewID)
	if err != nil {
		w.mu.Unlock()
		return fmt.Errorf("close: %w", err)
	}
	payload := w.interaction("view_closed", w.users[user])
	w.submittedFrom(payload, w.users[user])
	payload["view"] = w.viewObject(v, nil)
	payload["is_cleared"] = all || v.ClearOnClose
	notify := v.NotifyOnClose
	if all || v.ClearOnClose {
		w.closeAll(user)
	} else {
		w.closeView(v)
	}
	w.touch()
	w.mu.Unlock()
	if notify {
		w.ask(ctx, envelope{kind: kindInteractive, inner: "view_closed", payload: encode(payload)})
	}
	return nil
}

// Shortcut runs a global shortcut.
func (w *Workspace) Shortcut(ctx context.Context, user, callbackID string) error {
	w.mu.Lock()
	u, err := w.signedIn(user)
	if err != nil {
		w.mu.Unlock()
		return err
	}
	payload := w.interaction("shortcut", u)
	payload["callback_id"], payload["trigger_id"] = callbackID, w.newTrigger(user, "")
	payload["action_ts"] = w.ids.ts()
	w.mu.Unlock()
	_, err = w.ask(ctx, envelope{kind: kindInteractive, inner: "shortcut", payload: encode(payload)})
	return err
}
