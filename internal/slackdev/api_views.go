package slackdev

import (
	"encoding/json"
	"maps"
)

const (
	maxViewBytes = 250 << 10
	maxViewDepth = 3
)

// readView checks the view argument for a surface ("modal" or "home").
func (w *Workspace) readView(a args, kinds ...string) (map[string]any, error) {
	if err := a.required("view"); err != nil {
		return nil, err
	}
	v, ok := a.nested("view")
	if !ok {
		return nil, invalid("invalid_arguments", []string{"[ERROR] must provide an object [json-pointer:/view]"})
	}
	return w.checkView(v, kinds...)
}

func (w *Workspace) checkView(v any, kinds ...string) (map[string]any, error) {
	if len(encode(v)) > maxViewBytes {
		return nil, fail("view_too_large")
	}
	if messages := w.kit.checkView(v, kinds); messages != nil {
		return nil, invalid("invalid_arguments", messages)
	}
	def := v.(map[string]any)
	if blocks, ok := def["blocks"].([]any); ok {
		fillIDs(blocks)
	}
	return def, nil
}

func (w *Workspace) viewsOpen(a args) (reply, error) {
	if err := a.required("trigger_id"); err != nil {
		return nil, err
	}
	def, err := w.readView(a, "modal")
	if err != nil {
		return nil, err
	}
	if err := w.externalFree(def, nil); err != nil {
		return nil, err
	}
	t, err := w.useTrigger(a.str("trigger_id"))
	if err != nil {
		return nil, err
	}
	if t.view != "" && len(w.stacks[t.user]) >= maxViewDepth {
		return nil, fail("push_limit_reached")
	}
	v := w.newView(t.user, def)
	if t.view == "" {
		w.closeAll(t.user)
	} else {
		w.linkTo(v, t.user)
	}
	w.stacks[t.user] = append(w.stacks[t.user], v.ID)
	return reply{"view": w.viewObject(v, nil)}, nil
}

func (w *Workspace) viewsPush(a args) (reply, error) {
	if err := a.required("trigger_id"); err != nil {
		return nil, err
	}
	def, err := w.readView(a, "modal")
	if err != nil {
		return nil, err
	}
	if err := w.externalFree(def, nil); err != nil {
		return nil, err
	}
	t, err := w.useTrigger(a.str("trigger_id"))
	switch {
	case err != nil:
		return nil, err
	case t.view == "" || len(w.stacks[t.user]) == 0:
		return nil, fail("not_found") // nothing to push onto
	case len(w.stacks[t.user]) >= maxViewDepth:
		return nil, fail("push_limit_reached")
	}
	v := w.push(t.user, def)
	return reply{"view": w.viewObject(v, nil)}, nil
}

// push puts a modal on top of a person's open ones.
func (w *Workspace) push(user string, def map[string]any) *View {
	v := w.newView(user, def)
	w.linkTo(v, user)
	w.stacks[user] = append(w.stacks[user], v.ID)
	return v
}

// linkTo makes v follow the person's top modal.
func (w *Workspace) linkTo(v *View, user string) {
	stack := w.stacks[user]
	if len(stack) > 0 {
		v.RootID, v.PreviousID = stack[0], stack[len(stack)-1]
	}
}

func (w *Workspace) viewsUpdate(a args) (reply, error) {
	v := w.views[a.str("view_id")]
	if id := a.str("external_id"); a.str("view_id") == "" && id != "" {
		v = w.byExternalID(id)
	}
	if a.str("view_id") == "" && a.str("external_id") == "" {
		return nil, invalid("invalid_arguments", []string{"[ERROR] missing required field: view_id"})
	}
	def, err := w.readView(a, "modal", "home")
	switch {
	case err != nil:
		return nil, err
	case v == nil:
		return nil, fail("not_found")
	case a.str("hash") != "" && a.str("hash") != v.Hash:
		return nil, fail("hash_conflict")
	case str(def["type"]) != v.Type:
		return nil, invalid(
			"invalid_arguments", []string{"[ERROR] the type of a view cannot change [json-pointer:/view/type]"})
	}
	if err := w.externalFree(def, v); err != nil {
		return nil, err
	}
	w.redefine(v, def)
	return reply{"view": w.viewObject(v, nil)}, nil
}

func (w *Workspace) viewsPublish(a args) (reply, error) {
	if err := a.required("user_id"); err != nil {
		return nil, err
	}
	def, err := w.readView(a, "home")
	if err != nil {
		return nil, err
	}
	user := a.str("user_id")
	if u, ok := w.users[user]; !ok || u.Deleted {
		return nil, invalid("invalid_arguments", []string{"[ERROR] invalid `user_id` [json-pointer:/user_id]"})
	}
	v, ok := w.views[w.homes[user]]
	if hash := a.str("hash"); ok && hash != "" && hash != v.Hash {
		return nil, fail("hash_conflict")
	}
	if err := w.externalFree(def, v); err != nil {
		return nil, err
	}
	if ok {
		w.redefine(v, def)
	} else {
		v = w.newView(user, def)
		w.homes[user] = v.ID
	}
	return reply{"view": w.viewObject(v, nil)}, nil
}

// externalFree checks that no other view has the external id.
func (w *Workspace) externalFree(def map[string]any, self *View) error {
	id := str(def["external_id"])
	if v := w.byExternalID(id); id != "" && v != nil && v != self {
		return fail("duplicate_external_id")
	}
	return nil
}

func (w *Workspace) byExternalID(id string) *View {
	for _, v := range w.views {
		if id != "" && v.ExternalID == id {
			return v
		}
	}
	return nil
}

func (w *Workspace) newView(user string, def map[string]any) *View {
	v := &View{ID: w.ids.next("V"), User: user}
	v.RootID = v.ID
	w.views[v.ID] = v
	w.redefine(v, def)
	return v
}

// redefine takes over a definition and gives the view a new hash.
func (w *Workspace) redefine(v *View, def map[string]any) {
	text := func(key string) string {
		m, _ := def[key].(map[string]any)
		return str(m["text"])
	}
	blocks, _ := def["blocks"].([]any)
	v.def, v.Type = def, str(def["type"])
	v.CallbackID, v.ExternalID = str(def["callback_id"]), str(def["external_id"])
	v.PrivateMetadata = str(def["private_metadata"])
	v.Title, v.SubmitLabel, v.CloseLabel = text("title"), text("submit"), text("close")
	v.NotifyOnClose, _ = def["notify_on_close"].(bool)
	v.ClearOnClose, _ = def["clear_on_close"].(bool)
	v.Blocks = encode(blocks)
	v.Hash = w.ids.ts() + "." + randomHex(4)
	v.revision++
}

// viewObject is a view as the API and payloads show it. Without values the
// state is that of the initial values.
func (w *Workspace) viewObject(v *View, values map[string]map[string]any) map[string]any {
	if values == nil {
		values, _ = stateOf(v.Blocks, nil)
	}
	out := map[string]any{
		"title": nil, "submit": nil, "close": nil, "private_metadata": "", "callback_id": "", "external_id": "",
		"clear_on_close": false, "notify_on_close": false,
	}
	maps.Copy(out, v.def)
	previous := any(v.PreviousID)
	if v.PreviousID == "" {
		previous = nil
	}
	maps.Copy(out, map[string]any{
		"id": v.ID, "team_id": w.cfg.Team.ID, "blocks": json.RawMessage(v.Blocks), "hash": v.Hash,
		"state": map[string]any{"values": values}, "root_view_id": v.RootID, "previous_view_id": previous,
		"app_id": w.cfg.App.ID, "app_installed_team_id": w.cfg.Team.ID, "bot_id": w.cfg.App.BotID,
	})
	return out
}

// closeAll forgets every open modal of a person.
func (w *Workspace) closeAll(user string) {
	for _, id := range w.stacks[user] {
		delete(w.views, id)
	}
	delete(w.stacks, user)
}

// closeView forgets one modal and what lies on top of it.
func (w *Workspace) closeView(v *View) {
	stack := w.stacks[v.User]
	for i, id := range stack {
		if id == v.ID {
			for _, gone := range stack[i:] {
				delete(w.views, gone)
			}
			w.stacks[v.User] = stack[:i:i]
			return
		}
	}
}
