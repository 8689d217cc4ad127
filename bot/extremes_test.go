package bot

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/agent/scripted"
	"countersign/approvals"
	"countersign/internal/slackdev"
)

// slackJudge is a workspace that says whether Slack takes what the bot shows.
type slackJudge struct {
	t *testing.T
	w *slackdev.Workspace
	c *Client
}

func newSlackJudge(t *testing.T) *slackJudge {
	t.Helper()
	w, err := slackdev.Start(slackdev.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	c, err := NewClient(ClientConfig{
		Token: w.Config().BotToken, APIURL: w.APIURL(), HTTPClient: &http.Client{Timeout: time.Minute},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &slackJudge{t, w, c}
}

// taken fails unless Slack took what.
func (j *slackJudge) taken(what string, err error) {
	j.t.Helper()
	if err == nil {
		return
	}
	calls := j.w.Calls()
	meta, _ := calls[len(calls)-1].Answer["response_metadata"].(map[string]any)
	j.t.Errorf("%s: %v %v", what, err, meta["messages"])
}

func (j *slackJudge) card(what string, c card) {
	j.t.Helper()
	m, err := newMessage(c.text, c.blocks)
	if err == nil {
		_, err = j.c.postMessage(j.t.Context(), "C0GENERAL", m)
	}
	j.taken(what, err)
}

func (j *slackJudge) modal(what string, v slack.ModalViewRequest) {
	j.t.Helper()
	_, err := j.c.api.OpenViewContext(j.t.Context(), j.w.NewTrigger("U0ANN"), v)
	j.taken(what, err)
}

// oddRequests are calls of which something is empty, or much more than usual.
func oddRequests() map[string]*approvals.Request {
	of := func(kind agent.ToolKind, arguments string) *approvals.Request {
		r := transfer(arguments)
		r.Tool.Kind = kind
		return r
	}
	before, now := map[string]string{}, map[string]string{}
	for i := range 60 {
		name := fmt.Sprint("argument_", i)
		before[name], now[name] = strings.Repeat("a", 150), strings.Repeat("b", 150)
	}
	write := func(v any) json.RawMessage {
		raw, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return raw
	}
	changed := transfer(string(write(now)))
	changed.Original, changed.Editors = write(before), usersOf("U0BEN")
	nameless := transfer(`{"":"new"}`)
	nameless.Original, nameless.Editors = json.RawMessage(`{"":"old"}`), usersOf("U0BEN")
	crowd := transfer(`{"to":"acme"}`)
	crowd.Requirement.Seats = nil
	for i := range 40 {
		var all []approvals.UserID
		for k := range 10 {
			all = append(all, user(fmt.Sprintf("U0%02d%02d", i, k)))
		}
		crowd.Requirement.Seats = append(crowd.Requirement.Seats, approvals.Seat{
			Approvers: approvals.Approvers{Users: all},
		})
	}
	claimed := of(agent.KindMCP, `{"to":"acme"}`)
	claimed.Tool.Binding = []string{
		"server=s", "url=u", "tool=transfer_funds", "title=" + strings.Repeat("Pays. ", 3000),
	}
	twice := transfer(`{"to":"acme"}`)
	twice.Kind = agent.FieldsRequired
	twice.Fields = []approvals.InputField{
		{Name: "speed", Type: "string", Enum: []string{"slow", "fast", "slow"}},
		{Name: "way", Enum: []string{" ", "x"}},
	}
	return map[string]*approvals.Request{
		"a text that is a line break":       transfer(`{"memo":"\n","to":"acme"}`),
		"a script that is a line break":     of(agent.KindShell, `{"script":"\n"}`),
		"an input that is a line break":     of(agent.KindAgent, `{"input":"\n"}`),
		"a patch that is a line break":      of(agent.KindApplyPatch, `{"patch":"\n"}`),
		"an argument without a name":        transfer(`{"":"x","to":"acme"}`),
		"an argument whose name is a space": transfer(`{" ":"x","to":"acme"}`),
		"a change of one without a name":    nameless,
		"many changes":                      changed,
		"many approvers":                    crowd,
		"a long claim of a server":          claimed,
		"options that stand there twice":    twice,
	}
}

// TestSlackTakesOddCalls: a card that Slack refuses asks nobody, and a form that it refuses opens for nobody.
func TestSlackTakesOddCalls(t *testing.T) {
	t.Parallel()
	j := newSlackJudge(t)
	for what, r := range oddRequests() {
		c := newCard(r)
		j.card(what+": card", c)
		j.card(what+": shortened card", c.shortened(r))
		for page := range newCallText(r).pages() {
			j.modal(fmt.Sprintf("%s: details, page %d", what, page+1), detailsView(r, page, rights{true, true}))
		}
		for _, a := range []action{actEdit, actComment, actRejectReason, actAlwaysYes, actInput} {
			if a == actInput && r.Kind != agent.FieldsRequired {
				continue
			}
			v, _, refuse := formAs(a, r)
			if refuse != nil {
				v = wordsView(refuse)
			}
			j.modal(what+": form "+string(a), v)
		}
	}
}

// TestLineBreakIsAsked goes the whole way with an argument that shows nothing.
func TestLineBreakIsAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, scripted.Calls(scripted.Call("call_1", "transfer_funds", `{"amount":1200,"to":"\n"}`)),
		scripted.Say("Paid."))
	thread := w.mention("U0ANN", "pay", "")
	card := w.card(thread, 1)
	w.shown(card, "to (1 characters, with a line break at the end)")
	w.approve(thread, card, "Paid.")
}

// TestLongGrantsAreListed: grants that are long are fewer in one answer, and that there are more is said.
func TestLongGrantsAreListed(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	for i := range 15 {
		g := given(i+1, approvals.GrantActive)
		for k := range 12 {
			g.Condition = append(g.Condition, approvals.ArgumentBound{
				Pointer: fmt.Sprint("/argument_", k), Equal: json.RawMessage(`"` + strings.Repeat("x", 80) + `"`),
			})
		}
		s.service.grants = append(s.service.grants, g)
	}
	said := whole(t, s.command("U0BEN", "grants"))
	for _, words := range []string{"Grants: 15", string(s.service.grants[14].ID), "There are more"} {
		if !strings.Contains(said, words) {
			t.Errorf("%q is not in %s", words, said)
		}
	}
}

// TestPartialCardThatSlackFindsTooLarge: a card that shows only the beginning of a call may be too large too.
func TestPartialCardThatSlackFindsTooLarge(t *testing.T) {
	t.Parallel()
	s, r := waitingCard(t, setUp{})
	r.Arguments = json.RawMessage(`{"text":"` + strings.Repeat("all work and no play ", 900) + `"}`)
	if c := newCard(r); c.whole || c.least {
		t.Fatal("the control: the card is whole, or short already")
	}
	s.slack.Fail(slackdev.Fault{Method: methodPost, Error: "msg_blocks_too_long"})
	if _, err := s.bot.Notify(s.ctx(), cardNotification(r)); err != nil {
		t.Fatal(err)
	}
	if got := s.cards(r); len(got) != 1 {
		t.Fatalf("%d cards", len(got))
	}
}

// TestFullCardCallsEverybody: a card in which there is no room for those who are called shows less of the call.
func TestFullCardCallsEverybody(t *testing.T) {
	t.Parallel()
	var everybody []string
	for i := range 15 {
		everybody = append(everybody, fmt.Sprintf("U0MANY%02d", i))
	}
	s, r := waitingCard(t, setUp{})
	r.Requirement.Seats = approvals.Quorum(1, approvals.Approvers{Users: usersOf(everybody...)})
	r.Called = approvals.Called{Planned: true, Users: usersOf(everybody...)}
	for size := 5_000; ; size += 50 { // the largest call that its card shows whole
		arguments := r.Arguments
		r.Arguments = json.RawMessage(`{"text":"` + strings.Repeat("words and ", size/10) + `"}`)
		if !newCard(r).whole {
			r.Arguments = arguments
			break
		}
	}
	if _, err := s.bot.Notify(s.ctx(), cardNotification(r)); err != nil {
		t.Fatal(err)
	}
	got := s.cards(r)
	if len(got) != 1 {
		t.Fatalf("%d cards", len(got))
	}
	for _, id := range everybody {
		if !strings.Contains(string(got[0].Blocks), `"`+id+`"`) {
			t.Errorf("%s is not called", id)
		}
	}
}
