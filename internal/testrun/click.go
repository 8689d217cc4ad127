package testrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"countersign/approvals"
	"countersign/internal/slackdev"
)

// click presses a button of a card, and fills in or reads the window that it opens.
func (p *play) click(ctx context.Context) ([]Failure, error) {
	s := p.step
	by := p.file.People[s.By].ID
	before := len(p.workspace.Views(by))
	var pressed slackdev.Click
	err := error(slackdev.ErrNoMessage)
	for _, m := range p.copies(p.requests[s.Card]) {
		c, ok := m.Press(by, s.Click)
		if !ok {
			return []Failure{p.failure("the buttons of card "+s.Card, s.Click,
				strings.Join(actions(m), ", "))}, nil
		}
		pressed = c
		if err = p.workspace.Click(ctx, c); !errors.Is(err, slackdev.ErrNotMember) {
			break
		}
	}
	if err != nil {
		return p.trouble(err), nil
	}
	if len(s.Fill) == 0 && len(s.Opens) == 0 {
		asks, err := p.asksBack(ctx, pressed)
		if err != nil || !asks {
			return nil, err
		}
	}
	return p.window(ctx, by, before)
}

// asksBack reports whether the action opens a window that asks whether it is meant, and holds all that it needs: those
// are sent as they open. The lines of the menu do, except where a text is needed, and approving a call of high risk.
func (p *play) asksBack(ctx context.Context, c slackdev.Click) (bool, error) {
	switch p.step.Click {
	case "always_approve", "always_reject", "cancel_run":
		return c.ActionID != p.step.Click, nil
	case "approve_all", "reject_all":
		return true, nil
	case "approve":
		r, err := p.request(ctx, p.requests[p.step.Card])
		if err != nil {
			return false, err
		}
		return r.Requirement.Risk == approvals.RiskHigh, nil
	}
	return false, nil
}

// actions are what one can press on a message.
func actions(m slackdev.Message) []string {
	if names := m.Actions(); names != nil {
		return names
	}
	return []string{"none: the card has no buttons"}
}

// window waits for the window that a click opened, compares it with what the step expects, and fills it in or closes
// it.
func (p *play) window(ctx context.Context, by string, before int) ([]Failure, error) {
	var view slackdev.View
	var values map[string]map[string]any
	missing := "no window opened"
	err := p.workspace.WaitFor(ctx, func() bool {
		views := p.workspace.Views(by)
		if len(views) <= before {
			return false
		}
		view = views[len(views)-1]
		shown := p.spoken(view.Title + "\n" + view.Shown())
		for _, want := range p.step.Opens {
			if !strings.Contains(shown, want) {
				missing = "a window without " + quote(want) + ":\n" + shown
				return false
			}
		}
		values, missing = filled(view, p.step.Fill)
		if len(p.step.Fill)+len(p.step.Opens) == 0 && view.SubmitLabel == "" && strings.Contains(shown, "One moment") {
			missing = "a window that goes on loading"
		}
		return missing == ""
	})
	if err != nil {
		f := p.failure("the window that "+p.step.Click+" opens", windowWanted(p.step.Opens, p.step.Fill), missing)
		f.Waited = p.cfg.Timeout
		return []Failure{f}, nil
	}
	if len(p.step.Fill) == 0 && len(p.step.Opens) > 0 || view.SubmitLabel == "" {
		return p.trouble(p.workspace.CloseView(ctx, by, view.ID, true)), nil
	}
	refused, err := p.workspace.Submit(ctx, by, view.ID, values)
	if err != nil {
		return p.trouble(err), nil
	}
	if refused["response_action"] == "errors" {
		return []Failure{p.failure("the form", "to be taken", fmt.Sprint(refused["errors"]))}, nil
	}
	p.sent = view.ID
	return nil, nil
}

func windowWanted(opens []string, fill map[string]string) string {
	wanted := slices.Clone(opens)
	for label := range fill {
		wanted = append(wanted, "a field "+label)
	}
	return strings.Join(wanted, ", ")
}

// filled is what the fields of a form hold when the texts are typed into those whose labels or ids hold their keys. It
// returns what is missing for that, or "".
func filled(view slackdev.View, fill map[string]string) (values map[string]map[string]any, missing string) {
	var blocks []struct {
		Type    string `json:"type"`
		ID      string `json:"block_id"`
		Element struct {
			Action string `json:"action_id"`
		} `json:"element"`
		Label struct {
			Text string `json:"text"`
		} `json:"label"`
	}
	if json.Unmarshal(view.Blocks, &blocks) != nil {
		return nil, "a window that cannot be read"
	}
	values = make(map[string]map[string]any)
	var labels []string
	for key, text := range fill {
		found := false
		for _, b := range blocks {
			called := strings.ToLower(b.Label.Text + "\n" + b.ID + "\n" + b.Element.Action)
			if b.Type == "input" && !found && strings.Contains(called, strings.ToLower(key)) {
				values[b.ID], found = map[string]any{b.Element.Action: text}, true
			}
		}
		if !found {
			missing = "no field " + quote(key)
		}
	}
	if missing != "" {
		for _, b := range blocks {
			if b.Type == "input" {
				labels = append(labels, quote(b.Label.Text))
			}
		}
		missing += "; its fields: " + strings.Join(labels, ", ")
	}
	return values, missing
}
