package bot

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/approvals"
)

// inModal is a modal as a golden file holds it.
func inModal(v slack.ModalViewRequest) surface {
	s := surface{Type: v.Type, Title: v.Title.Text, Close: v.Close.Text, Blocks: v.Blocks.BlockSet}
	if v.Submit != nil {
		s.Submit = v.Submit.Text
	}
	return s
}

// formSurfaces are one of each form, some of them in several states.
func formSurfaces() map[string]surface {
	one := `{"amount":1200,"memo":"invoice 17","to":"acme"}`
	high := transfer(one)
	high.Requirement.Risk = approvals.RiskHigh
	unheard := transfer(one)
	unheard.Kind = agent.OutcomeUnknown
	out := map[string]surface{
		"words":   inModal(wordsView(phrase{"You asked for this, so somebody else has to decide."})),
		"loading": inModal(loadingView()),
		"callback": inModal(callbackView(deploy(), approvals.CallbackAddress{
			URL:   "https://bot.example/callbacks/T1/req_01arz3ndektsv4rrffq69g5fav",
			Token: "token_" + strings.Repeat("4f", 24),
		})),
	}
	for name, f := range map[string]struct {
		act action
		of  *approvals.Request
	}{
		"approve_high": {actApprove, high}, "comment": {actComment, transfer(one)},
		"reject": {actRejectReason, transfer(one)}, "reject_shell": {actRejectReason, shellScript()},
		"always": {actAlwaysYes, widelyGranted(one)}, "always_run": {actAlwaysYes, transfer(one)},
		"always_large": {actAlwaysYes, patch()}, "always_never": {actAlwaysNo, widelyGranted(one)},
		"edit": {actEdit, editable(one)}, "edit_secret": {actEdit, secretTransfer()},
		"edit_json": {actEdit, editable(`{"items":[{"n":1,"what":"cake"},{"n":2}],"note":"a\u202eb"}`)},
		"ask_back":  {actAskBack, transfer(one)}, "cancel": {actCancelRun, transfer(one)},
		"input": {actInput, reservation()}, "input_odd": {actInput, booking()},
		"question": {actInput, questionCards()["several"]}, "question_words": {actInput, wonder(nil)},
		"result": {actProvide, deploy()}, "happened": {actMarkDone, unheard}, "give_up": {actGiveUp, unheard},
	} {
		out[name] = inModal(formView(f.act, f.of))
	}
	out["batch"], out["batch_reject"] = inModal(batchView(actApproveAll, waitingTogether())),
		inModal(batchView(actRejectAll, waitingTogether()))
	out["batch_result"] = inModal(batchResultView(answeredTogether()))
	forms := map[string]surface{}
	for name, s := range out {
		forms["form_"+name] = s
	}
	return forms
}

// detailsSurfaces are windows that show all of a request, in several states.
func detailsSurfaces() map[string]surface {
	one := `{"amount":1200,"memo":"invoice 17","to":"acme"}`
	all := rights{decide: true, cancel: true}
	before := transfer(one)
	earlier := transfer(`{"amount":900,"memo":"invoice 16","to":"acme"}`)
	earlier.Status, earlier.Settled = approvals.RequestApproved, earlier.Created.Add(-time.Hour)
	earlier.Decisions = []approvals.Decision{{By: user("U0CLEO"), Verdict: approvals.Approve, At: earlier.Settled}}
	before.Before = &approvals.Precedent{Request: &earlier.RequestHead, Changes: []approvals.Change{
		{Name: "amount", Was: json.RawMessage(`900`), Is: json.RawMessage(`1200`)},
		{Name: "memo", Was: json.RawMessage(`"invoice 16"`), Is: json.RawMessage(`"invoice 17"`)},
	}}
	asked := transfer(one)
	asked.AskedBack = []approvals.AskedBack{
		{By: user("U0BEN"), At: asked.Created, Text: "Which <!channel> *invoice*?", Answer: "1042.\nSee the mail.",
			Answered: asked.Created.Add(time.Minute)},
		{By: user("U0CLEO"), At: asked.Created, Text: "Is it due?"},
	}
	ended := transfer(one)
	ended.Status, ended.Settled = approvals.RequestApproved, ended.Created.Add(4*time.Minute)
	ended.Outcome, ended.OutcomeAt = approvals.OutcomeRan, ended.Settled.Add(time.Minute)
	ended.Decisions = []approvals.Decision{
		{By: user("U0BEN"), Verdict: approvals.Approve, At: ended.Settled, Reason: "Checked with Cleo."},
	}
	return map[string]surface{
		"details_secret": inModal(detailsView(secretTransfer(), 0, all)),
		"details_patch":  inModal(detailsView(patch(), 0, all)),
		"details_before": inModal(detailsView(before, 0, all)),
		"details_asked":  inModal(detailsView(asked, 0, all)),
		"details_shell":  inModal(detailsView(shellScript(), 0, all)),
		"details_other":  inModal(detailsView(transfer(one), 0, rights{})),
		"details_ended":  inModal(detailsView(ended, 0, rights{})),
		"details_result": inModal(detailsView(deploy(), 0, all)),
	}
}

// widelyGranted is a request whose policy lets people answer for later calls as far as there is, and that others wait
// beside.
func widelyGranted(args string) *approvals.Request {
	r := transfer(args)
	r.Words, r.Because = "pay invoice 17, it is due today", "amount > 100"
	r.Order = []string{"to", "amount", "memo", "currency"}
	r.Requirement.Always = []approvals.Scope{
		approvals.ScopeRun, approvals.ScopeThread, approvals.ScopeChannel, approvals.ScopeWorkspace,
	}
	r.Covers = []approvals.Covered{
		{ID: "req_01arz3ndektsv4rrffq69g5faw", Shown: `{"amount":980.5,"to":"globex"}`},
		{ID: "req_01arz3ndektsv4rrffq69g5fax", Shown: `{"amount":7,"to":"<!channel>"}`},
	}
	return r
}

// editable is a request about a tool with a schema.
func editable(args string) *approvals.Request {
	r := transfer(args)
	r.Order = []string{"to", "amount", "currency", "due", "memo"}
	r.Schema = json.RawMessage(`{"type":"object","required":["to","amount"],"properties":{
		"to":{"type":"string","description":"Who is paid"},"amount":{"type":"number"},
		"currency":{"type":"string","enum":["EUR","USD","CHF"]},"due":{"type":"string","format":"date"},
		"memo":{"type":"string","description":"Stands on the statement"}}}`)
	return r
}

// reservation lacks a value of each type.
func reservation() *approvals.Request {
	r := booking()
	field := func(name, kind, schema string) approvals.InputField {
		return approvals.InputField{Name: name, Type: kind, Schema: json.RawMessage(schema)}
	}
	date, guests := field("date", "string", `{"format":"date"}`), field("guests", "integer", `{}`)
	date.Required, date.Description = true, "When to come"
	guests.Required, guests.Proposal = true, json.RawMessage(`2`)
	room := field("room", "string", `{}`)
	room.Enum, room.Proposal, room.Required = []string{"hall", "cellar"}, json.RawMessage(`"hall"`), true
	pin := field("pin", "string", `{}`)
	pin.Secret, pin.Required = true, true
	r.Fields = []approvals.InputField{
		date, field("time", "string", `{"format":"time"}`), field("moment", "string", `{"format":"date-time"}`), guests,
		field("outside", "boolean", `{}`), room,
		field("extras", "array", `{"items":{"enum":["cake","wine","song"]}}`), field("memo", "string", `{}`), pin,
		field("more", "object", `{}`),
	}
	return r
}

// waitingTogether are calls that wait beside each other, of which one is answered by itself.
func waitingTogether() (all []batchCall) {
	for i, args := range []string{
		`{"amount":250,"memo":"invoice 17","to":"acme"}`, `{"amount":980.5,"memo":"invoice 18","to":"globex"}`,
		`{"amount":7,"memo":"lunch","to":"cleo"}`,
	} {
		r := transfer(args)
		r.ID = approvals.RequestID("req_01arz3ndektsv4rrffq69g5fa" + string(rune('a'+i)))
		call := batchCall{request: r}
		call.blocks, _ = wholeCall(r)
		all = append(all, call)
	}
	return append(all, batchCall{request: shellScript(), why: phrase{"It is answered by itself, on its own card."}})
}

// answeredTogether is what came of an answer to several calls: each line ends in another way.
func answeredTogether() (approvals.Decision, []batchAnswer) {
	d := approvals.Decision{By: user("U0BEN"), Verdict: approvals.Approve}
	var all []batchAnswer
	add := func(args string, err error, change func(*approvals.Request)) {
		r := transfer(args)
		r.ID = approvals.RequestID("req_01arz3ndektsv4rrffq69g5fa" + string(rune('a'+len(all))))
		change(r)
		all = append(all, batchAnswer{r.ID, result{request: r, err: err}})
	}
	by := func(who string, v approvals.Verdict) func(*approvals.Request) {
		return func(r *approvals.Request) {
			r.Status, r.Settled = approvals.RequestApproved, r.Created.Add(time.Minute)
			if !v.Affirms() {
				r.Status, r.Outcome = approvals.RequestRejected, approvals.OutcomeNotRun
			}
			r.Decisions = []approvals.Decision{{By: user(who), Verdict: v, At: r.Settled}}
		}
	}
	add(`{"amount":250,"memo":"invoice 17","to":"acme"}`, nil, by("U0BEN", approvals.Approve))
	add(`{"amount":980.5,"memo":"invoice 18","to":"globex"}`, nil, func(r *approvals.Request) {
		r.Requirement.Seats = append(r.Requirement.Seats, r.Requirement.Seats[0])
		at := r.Created.Add(time.Minute)
		r.Decisions = []approvals.Decision{{By: user("U0BEN"), Verdict: approvals.Approve, At: at}}
	})
	add(`{"amount":7,"memo":"lunch","to":"cleo"}`, approvals.ErrConflict, by("U0CLEO", approvals.Reject))
	add(`{"amount":12,"memo":"invoice 19","to":"acme"}`, &approvals.Refusal{
		Fact: approvals.ErrUnauthorized, Rule: approvals.RuleEditor,
	}, func(r *approvals.Request) { r.Editors = []approvals.UserID{user("U0BEN")} })
	add(`{"amount":99000,"memo":"invoice 20","to":"globex"}`, &approvals.Refusal{
		Fact: approvals.ErrInvalid, Why: "it is of high risk; answer it by itself",
	}, func(r *approvals.Request) { r.Requirement.Risk = approvals.RiskHigh })
	add(`{"amount":3,"memo":"stamps","to":"cleo"}`, errors.New("disk full"), func(*approvals.Request) {})
	gone := batchAnswer{"req_01arz3ndektsv4rrffq69g5faz", result{err: approvals.ErrNotFound}}
	return d, append(all, gone)
}

// What pictures of forms showed that a reader stumbles over:

// TestFormsSayThingsOnce: what an input shows does not stand above it too, a question is not repeated as JSON, and
// calls that are answered together have the names that their cards have.
func TestFormsSayThingsOnce(t *testing.T) {
	t.Parallel()
	said := func(s surface) string {
		raw, err := json.Marshal(s.Blocks)
		if err != nil {
			t.Fatal(err)
		}
		return texts(t, raw)
	}
	forms := formSurfaces()
	for _, name := range []string{"form_question", "form_question_words"} {
		if got := said(forms[name]); strings.Count(got, "Cleo likes blue.") != 1 || strings.Contains(got, `["`) {
			t.Errorf("%s: %s", name, got)
		}
		if got := forms[name].Title; got != "Answer" {
			t.Errorf("%s is called %s", name, got)
		}
	}
	if got := said(forms["form_input"]); strings.Contains(got, "to fill in") {
		t.Errorf("the values to fill in are listed above their inputs: %s", got)
	}
	cut := reservation()
	cut.Fields[7].Proposal = json.RawMessage(`"by the \u202ewindow"`) // which no input holds
	if got := said(inModal(formView(actInput, cut))); !strings.Contains(got, `by the \u202ewindow`) {
		t.Errorf("what the model proposes stands nowhere: %s", got)
	}
	if got := said(forms["form_batch"]); !strings.Contains(got, "2. transfer_funds: 980.5, invoice 18, globex") {
		t.Errorf("calls have no names: %s", got)
	}
	if got := string(blocksOf(t, forms["form_always_large"])); strings.Contains(got, `\\u{A}`) {
		t.Errorf("a value of several lines is written out on one: %s", got)
	}
}

func blocksOf(t *testing.T, s surface) []byte {
	t.Helper()
	raw, err := json.Marshal(s.Blocks)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestInputsFollowTheSchema: a form to edit arguments has them in the order in which the call shows them, and says of a
// text that the call needs what it is when it is emptied.
func TestInputsFollowTheSchema(t *testing.T) {
	t.Parallel()
	var names []string
	for _, b := range formSurfaces()["form_edit"].Blocks {
		if in, ok := b.(*slack.InputBlock); ok {
			names = append(names, in.Label.Text)
			if in.Label.Text == "to" && !strings.Contains(in.Hint.Text, "empty text") {
				t.Errorf("of the text that is needed the form says %s", in.Hint.Text)
			}
		}
	}
	if got := strings.Join(names, " "); got != "to amount currency due memo" {
		t.Errorf("the inputs are %s", got)
	}
}

// TestDetailsBeginWithWhatMatters: a settled call begins with its own name and how it ended, ids stand at the end, and
// words beside a button name that button.
func TestDetailsBeginWithWhatMatters(t *testing.T) {
	t.Parallel()
	all := detailsSurfaces()
	ended := texts(t, blocksOf(t, all["details_ended"]))
	name, how, call := strings.Index(ended, "transfer_funds: 1200"), strings.Index(ended, "Approved by"),
		strings.Index(ended, `{"amount"`)
	if name != 0 || how < name || call < how {
		t.Errorf("name at %d, end at %d, call at %d: %s", name, how, call, ended)
	}
	for name, s := range all {
		got := texts(t, blocksOf(t, s))
		digest := strings.Index(got, "6120646967657374")
		if digest < strings.Index(got, `{"`) || strings.Count(got, "6120646967657374") != 1 {
			t.Errorf("%s: the digest stands at %d of %s", name, digest, got)
		}
	}
	if got := texts(t, blocksOf(t, all["details_secret"])); strings.Contains(got, "Show details") {
		t.Errorf("the details send people to the details: %s", got)
	}
}
