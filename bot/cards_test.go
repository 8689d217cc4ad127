package bot

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/slack-go/slack"
	"pgregory.net/rapid"

	"countersign/agent"
	"countersign/approvals"
)

var updateGolden = flag.Bool("update", false, "write the golden files anew")

// surface is something the bot shows, as a golden file holds it.
type surface struct {
	Text string `json:"text,omitempty"`
	// Type, Title, Submit and Close are those of a view.
	Type   slack.ViewType `json:"type,omitempty"`
	Title  string         `json:"title,omitempty"`
	Submit string         `json:"submit,omitempty"`
	Close  string         `json:"close,omitempty"`
	Blocks []slack.Block  `json:"blocks"`
}

// surfaces are one of each thing that is shown.
func surfaces() map[string]surface {
	args := `{"amount":1200,"memo":"invoice 17","to":"acme"}`
	decided := func(
		status approvals.RequestStatus, edit func(*approvals.Request), answers ...approvals.Decision,
	) *approvals.Request {
		r := transfer(args)
		r.Status, r.Version, r.Settled = status, 2, r.Created.Add(4*time.Minute)
		for i := range answers {
			answers[i].At = r.Settled
		}
		r.Decisions = answers
		if edit != nil {
			edit(r)
		}
		return r
	}
	by := func(id string, v approvals.Verdict, reason string) approvals.Decision {
		return approvals.Decision{By: user(id), Verdict: v, Reason: reason}
	}
	became := func(o approvals.Outcome) func(*approvals.Request) {
		return func(r *approvals.Request) { r.Outcome, r.OutcomeAt = o, r.Settled.Add(time.Minute) }
	}
	siblings := transfer(args)
	siblings.Covers = []approvals.Covered{
		{ID: "req_01arz3ndektsv4rrffq69g5faw", Shown: `{"amount":980.5,"to":"globex"}`},
		{ID: "req_01arz3ndektsv4rrffq69g5fax", Shown: `{"amount":7,"to":"<!channel>"}`},
	}
	oneEach := transfer(args)
	oneEach.Requirement.Seats = []approvals.Seat{
		{Approvers: approvals.Approvers{Groups: []string{"S0FINANCE"}}},
		{Approvers: approvals.Approvers{Users: []approvals.UserID{user("U0CLEO")}}},
	}
	oneEach.Decisions = []approvals.Decision{{By: user("U0DAN"), Verdict: approvals.Approve,
		Void: "no longer in the channel"}}
	quorum := transfer(args)
	quorum.Requirement.Always = nil
	quorum.Requirement.Seats = approvals.Quorum(2, approvals.Approvers{
		Users: []approvals.UserID{user("U0BEN"), user("U0CLEO")}, Groups: []string{"S0FINANCE"},
	})
	quorum.Decisions = []approvals.Decision{by("U0BEN", approvals.Approve, "")}
	quorum.Path = []string{"ops", "finance"}
	hidden := transfer("{\"memo\":\"ok\u202E\u200B" + strings.Repeat(" ", 200) + "\",\"to\":\"acme\"}")
	stricter := transfer(args)
	stricter.Decisions = []approvals.Decision{
		{By: user("U0DAN"), Verdict: approvals.Approve}, {By: user("U0BEN"), Verdict: approvals.Approve},
	}
	stricter.Progress = &approvals.Progress{
		Current: stricter.Requirement, Changed: true, Uncounted: []approvals.UserID{user("U0DAN")},
	}
	stricter.Progress.Current.Policy = "money_now"
	stricter.Progress.Current.Seats = approvals.Quorum(2, approvals.Approvers{Groups: []string{"S0FINANCE"}})
	stricter.Progress.MissingNow = stricter.Progress.Current.Seats[:1]
	forAll := transfer(args)
	forAll.Covers = siblings.Covers
	forAll.Requirement.Seats = approvals.Quorum(3, approvals.Approvers{ChannelMembers: true})
	forAll.Decisions = []approvals.Decision{{By: user("U0DAN"), Verdict: approvals.AlwaysApprove}}
	forAll.Progress = &approvals.Progress{
		Current: forAll.Requirement, Missing: forAll.Requirement.Seats[:2], MissingNow: forAll.Requirement.Seats[:2],
	}
	large := transfer(`{"text":"` + strings.Repeat("all work and no play ", 900) + `"}`)
	unknown := transfer(args)
	unknown.Kind = agent.OutcomeUnknown
	forever := transfer(args)
	forever.Expires = time.Time{}

	for _, r := range []*approvals.Request{oneEach, quorum, stricter, forAll} {
		for i := range r.Decisions {
			r.Decisions[i].At = r.Created.Add(time.Duration(i+1) * time.Minute)
		}
	}
	because := transfer(args)
	because.Because, because.Requirement.Because = "amount > 100", `to != "acme" or amount > 1000`
	because.Words = "pay invoice 17, it is due today"

	cards := map[string]*approvals.Request{
		"pending_because": because,
		"pending":         transfer(args), "pending_quorum": quorum, "pending_hidden": hidden, "pending_large": large,
		"pending_unknown": unknown, "pending_forever": forever, "pending_siblings": siblings,
		"pending_one_each": oneEach, "pending_stricter": stricter, "pending_always": forAll,
		"approved_dropped": decided(approvals.RequestApproved, nil, by("U0BEN", approvals.AlwaysApprove, ""),
			by("U0CLEO", approvals.Approve, "")),
		"approved": decided(approvals.RequestApproved, became(approvals.OutcomeRan),
			by("U0BEN", approvals.Approve, "")),
		"approved_waits": decided(approvals.RequestApproved, nil, by("U0BEN", approvals.Approve, "")),
		"approved_running": decided(approvals.RequestApproved, became(approvals.OutcomeRunning),
			by("U0BEN", approvals.Approve, "")),
		"approved_failed": decided(approvals.RequestApproved, func(r *approvals.Request) {
			became(approvals.OutcomeFailed)(r)
			r.OutcomeStatus.HTTP = 500
		}, by("U0BEN", approvals.Approve, "")),
		"approved_refused": decided(approvals.RequestApproved, func(r *approvals.Request) {
			became(approvals.OutcomeFailed)(r)
			r.OutcomeStatus.HTTP = 422
		}, by("U0BEN", approvals.Approve, "")),
		"approved_answered": decided(approvals.RequestApproved, func(r *approvals.Request) {
			became(approvals.OutcomeRan)(r)
			r.OutcomeStatus.HTTP = 200
		}, by("U0BEN", approvals.Approve, "")),
		"approved_not_run": decided(approvals.RequestApproved, func(r *approvals.Request) {
			became(approvals.OutcomeNotRun)(r)
			r.Note = "The run ended first."
		}, by("U0BEN", approvals.Approve, "")),
		"approved_unknown": decided(approvals.RequestApproved, became(approvals.OutcomeUnknown),
			by("U0BEN", approvals.Approve, "")),
		"approved_standing": decided(approvals.RequestApproved, became(approvals.OutcomeRan), approvals.Decision{
			By: user("U0BEN"), Verdict: approvals.Approve,
			Standing: &approvals.StandingAnswer{Request: "req_01arz3ndektsv4rrffq69g5faw", Decision: "dec_1"},
		}),
		"approved_void": decided(approvals.RequestApproved, became(approvals.OutcomeRan),
			approvals.Decision{By: user("U0DAN"), Verdict: approvals.Approve, Void: "deactivated"},
			by("U0BEN", approvals.Approve, ""), by("U0CLEO", approvals.Approve, "")),
		"approved_always": decided(approvals.RequestApproved, nil, by("U0BEN", approvals.AlwaysApprove, "")),
		"approved_two": decided(approvals.RequestApproved, nil,
			by("U0BEN", approvals.Approve, ""), by("U0CLEO", approvals.Approve, "")),
		"approved_glass": decided(approvals.RequestApproved, became(approvals.OutcomeRan),
			by("U0BEN", approvals.BreakGlass, "checkout is down")),
		"approved_delegate": decided(approvals.RequestApproved, nil,
			approvals.Decision{By: user("U0DAN"), For: user("U0BEN"), Verdict: approvals.Approve}),
		"approved_cli": decided(approvals.RequestApproved, nil, by("uid:1000", approvals.Approve, "")),
		"rejected": decided(approvals.RequestRejected, became(approvals.OutcomeNotRun),
			by("U0BEN", approvals.Reject, "Too *much* <!channel>\nask again")),
		"expired": decided(approvals.RequestExpired, became(approvals.OutcomeNotRun)),
		"cancelled": decided(approvals.RequestCancelled, func(r *approvals.Request) {
			became(approvals.OutcomeNotRun)(r)
			r.Note = "The run has ended."
		}),
		"cancelled_by": decided(approvals.RequestCancelled, func(r *approvals.Request) {
			became(approvals.OutcomeNotRun)(r)
			r.Note, r.CancelledBy = "The run has ended.", user("U0ANN")
		}),
		"approved_not_run_by": decided(approvals.RequestApproved, func(r *approvals.Request) {
			became(approvals.OutcomeNotRun)(r)
			r.Note, r.CancelledBy = "The run ended first.", user("U0ANN")
		}, by("U0BEN", approvals.Approve, "")),
		"approved_reported": decided(approvals.RequestApproved, func(r *approvals.Request) {
			became(approvals.OutcomeRan)(r)
			r.OutcomeBy = user("U0CLEO")
		}, by("U0BEN", approvals.Approve, "")),
		"stale_replaced": decided(approvals.RequestStale, func(r *approvals.Request) {
			became(approvals.OutcomeNotRun)(r)
			r.Replaced = &approvals.Replacement{
				ID: "req_01arz3ndektsv4rrffq69g5faw", Definition: true,
				Parts: []string{"version"}, Facts: []string{"program /bin/sh", "reload.sh"},
			}
		}, by("U0BEN", approvals.Approve, ""), by("U0DAN", approvals.Reject, "")),
		"stale": decided(approvals.RequestStale, became(approvals.OutcomeNotRun)),
		"unknown_done": decided(approvals.RequestApproved, func(r *approvals.Request) {
			r.Kind = agent.OutcomeUnknown
			became(approvals.OutcomeRan)(r)
		},
			by("U0BEN", approvals.MarkDone, "The bank shows it.")),
	}
	for name, r := range callsOfAllKinds() {
		cards["pending_"+name] = r
	}
	cards["approved_large"] = decided(approvals.RequestApproved, func(r *approvals.Request) {
		r.Arguments = large.Arguments
		became(approvals.OutcomeRan)(r)
	}, by("U0BEN", approvals.Approve, ""))
	cards["result_provided"] = decided(approvals.RequestApproved, func(r *approvals.Request) {
		*r = *asSettled(deploy(), r)
		became(approvals.OutcomeRan)(r)
	}, by("U0BEN", approvals.ProvideResult, "Deployed as build 4711.\nAll checks are green."))
	cards["input_pending"] = booking()
	cards["input_provided"] = decided(approvals.RequestApproved, func(r *approvals.Request) {
		*r = *asSettled(booking(), r)
		became(approvals.OutcomeRan)(r)
	}, filledIn(by("U0BEN", approvals.ProvideInput, "")))
	for name, r := range questionCards() {
		cards["question_"+name] = r
	}
	cards["pending_secret"], cards["pending_secret_high"] = secretTransfer(), secretTransfer()
	cards["pending_secret_high"].Requirement.Risk = approvals.RiskHigh
	cards["approved_secret"] = decided(approvals.RequestApproved, func(r *approvals.Request) {
		r.Secret = []string{"memo"}
		became(approvals.OutcomeRan)(r)
	}, by("U0BEN", approvals.Approve, ""))
	cards["edited_pending"] = editedTransfer()
	cards["superseded"] = decided(approvals.RequestSuperseded, func(r *approvals.Request) {
		r.SupersededBy, r.Note = "req_2", "The arguments were changed; req_2 asks about the changed call."
		became(approvals.OutcomeNotRun)(r)
	}, by("U0BEN", approvals.Edit, "Too much."))
	cards["result_rejected"] = decided(approvals.RequestRejected, func(r *approvals.Request) {
		*r = *asSettled(deploy(), r)
	}, by("U0BEN", approvals.Reject, "Not on a Friday."))
	cards["result_expired"] = decided(approvals.RequestExpired, func(r *approvals.Request) {
		*r = *asSettled(deploy(), r)
		became(approvals.OutcomeUnknown)(r)
	})
	cards["approved_shell"] = decided(approvals.RequestApproved, func(r *approvals.Request) {
		*r = *asSettled(shellScript(), r)
	}, by("U0BEN", approvals.Approve, ""))
	out := map[string]surface{}
	for name, r := range cards {
		c := newCard(r)
		out["card_"+name] = surface{Text: c.text.fallback(), Blocks: c.blocks}
	}
	n := &approvals.Notification{ID: "ntf_1", Run: "run_1",
		Text: "Paid *1,200* to <https://evil.example|acme>.\n\nAnything else?"}
	for i, p := range textPosts(n, answerEvent, wordsEmptyAnswer) {
		out[fmt.Sprintf("answer_%d", i+1)] = surface{Text: p.text.fallback(), Blocks: p.blocks}
	}
	n = &approvals.Notification{ID: "ntf_2", Run: "run_1", By: user("U0BEN"),
		Text: "cancelled the run. Carried out before that: transfer_funds (req_01arz3ndektsv4rrffq69g5fav)."}
	notice := textPosts(n, noticeEvent, "…")[0]
	out["notice"] = surface{Text: notice.text.fallback(), Blocks: notice.blocks}
	for page := range newCallText(large).pages() {
		out[fmt.Sprintf("details_%d", page+1)] = inModal(detailsView(large, page, rights{decide: true, cancel: true}))
	}
	maps.Copy(out, formSurfaces())
	maps.Copy(out, detailsSurfaces())
	out["list_item"] = surface{Blocks: listItem(transfer(args), true)}
	maps.Copy(out, listSurfaces())
	out["list_item_question"] = surface{Blocks: listItem(wonder(nil), true)}
	out["list_item_result"] = surface{Blocks: listItem(deploy(), true)}
	out["list_item_shell"] = surface{Blocks: listItem(shellScript(), true)}
	return out
}

func TestGoldenCards(t *testing.T) {
	t.Parallel()
	for name, s := range surfaces() {
		got, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name+".json")
		if *updateGolden {
			if err := os.WriteFile(path, append(got, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatalf("%v (run with -update)", err)
		}
		if diff := cmp.Diff(strings.TrimSpace(string(want)), string(got)); diff != "" {
			t.Errorf("%s differs (-want +got), run with -update if that is meant:\n%s", name, diff)
		}
	}
	files, _ := filepath.Glob("testdata/*.json")
	if !*updateGolden && len(files) != len(surfaces()) {
		t.Errorf("%d golden files for %d surfaces", len(files), len(surfaces()))
	}
}

// seenBlock is a block as Slack receives it.
type seenBlock map[string]any

func decoded(t interface{ Fatalf(string, ...any) }, blocks []slack.Block) []seenBlock {
	raw, err := json.Marshal(blocks)
	if err != nil {
		t.Fatalf("%v", err)
	}
	var out []seenBlock
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatalf("%v", err)
	}
	return out
}

// boxes joins the fixed-width boxes that follow the heading.
func boxes(blocks []seenBlock, heading string) string {
	var b strings.Builder
	under := false
	for _, block := range blocks {
		elements, _ := block["elements"].([]any)
		if len(elements) == 0 {
			continue
		}
		first := elements[0].(map[string]any)
		inner, _ := first["elements"].([]any)
		if len(inner) == 0 {
			continue
		}
		text, _ := inner[0].(map[string]any)["text"].(string)
		if first["type"] == "rich_text_preformatted" {
			if under {
				b.WriteString(text)
			}
			continue
		}
		under = text == heading
	}
	return b.String()
}

func actions(blocks []seenBlock) map[string]bool {
	found := map[string]bool{}
	for _, block := range blocks {
		if block["type"] != "actions" {
			continue
		}
		for _, e := range block["elements"].([]any) {
			element := e.(map[string]any)
			lines, _ := element["options"].([]any)
			for _, line := range lines {
				name, _, _ := strings.Cut(line.(map[string]any)["value"].(string), ":")
				found[name] = true
			}
			if lines == nil {
				found[element["action_id"].(string)] = true
			}
		}
	}
	return found
}

// TestApproveOnlyWhereAllIsShown is the rule against hidden endings: on every surface, for arguments of every size,
// either every byte can be read back or nothing offers to run the call.
func TestApproveOnlyWhereAllIsShown(t *testing.T) {
	t.Parallel()
	offered, withheld := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.OneOf(rapid.IntRange(0, 4<<10), rapid.IntRange(4<<10, 16<<10)).Draw(t, "size")
		unit := rapid.OneOf(hostile(), rapid.Just("plain words and "), rapid.Just("x")).Draw(t, "unit")
		if unit == "" {
			unit = "-"
		}
		text, err := json.Marshal(map[string]string{"a": strings.Repeat(unit, size/len(unit)+1)})
		if err != nil {
			t.Fatal(err)
		}
		r := anyKind(string(text)).Draw(t, "request")

		blocks := decoded(t, newCard(r).blocks)
		acts := actions(blocks)
		if runs := acts["approve"] || acts["always_approve"] || acts["retry"]; runs {
			offered++
			cardShowsAll(t, r, blocks)
		} else {
			withheld++
		}
		if !acts["reject"] || !acts["reject_with_reason"] || !acts["show_details"] {
			t.Fatalf("a card lacks a button: %v", acts)
		}
		checkPages(t, r)
		if shown, whole := wholeCall(r); whole {
			cardShowsAll(t, r, decoded(t, shown))
		}
		if row := decoded(t, listItem(r, true)); actions(row)["approve"] {
			cardShowsAll(t, r, row)
		}
	})
	if offered == 0 || withheld == 0 {
		t.Errorf("the sizes tried say nothing: approve offered %d times, withheld %d times", offered, withheld)
	}
}

func TestPagesOfLargeCalls(t *testing.T) {
	t.Parallel()
	for size, texts := range map[int][]string{
		29_000: {"x", "\u202e", "<&>"}, 64 << 10: {"plain words and ", "\U000E0041"}, 200 << 10: {"plain words and "},
	} {
		for _, unit := range texts {
			text, err := json.Marshal(map[string]string{"a": strings.Repeat(unit, size/len(unit))})
			if err != nil {
				t.Fatal(err)
			}
			checkPages(t, transfer(string(text)))
		}
	}
}

func checkPages(t interface{ Fatalf(string, ...any) }, r *approvals.Request) {
	all := newCallText(r).pages()
	var shown []seenBlock
	for i := range all {
		v := detailsView(r, i, rights{decide: true, cancel: true})
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatalf("%v", err)
		}
		if len(raw) > 250_000 || len(v.Blocks.BlockSet) > 100 || len(v.PrivateMetadata) > 3000 {
			t.Fatalf("page %d is too large: %d bytes, %d blocks", i, len(raw), len(v.Blocks.BlockSet))
		}
		blocks := decoded(t, v.Blocks.BlockSet)
		if acts := actions(blocks); acts["approve"] != (i == len(all)-1) {
			t.Fatalf("page %d of %d: approve offered is %v", i+1, len(all), acts["approve"])
		}
		for _, p := range all[i] {
			if p.heading != nil {
				shown = append(shown, decoded(t, []slack.Block{paragraph(p.heading)})...)
			}
			shown = append(shown, decoded(t, []slack.Block{verbatim(p.text)})...)
		}
	}
	showsAllBound(t, r, func(heading string) string { return boxes(shown, heading) })
}

// showsAllBound fails unless everything that a decision about the request is bound to can be read back under its
// heading.
func showsAllBound(t interface{ Fatalf(string, ...any) }, r *approvals.Request, under func(heading string) string) {
	if got := unvisible(t, under(wordsArguments)); got != string(r.Arguments) {
		t.Fatalf("%d of %d bytes of arguments are shown", len(got), len(r.Arguments))
	}
	if got := unvisible(t, under("Depends on")); got != strings.Join(r.Facts, "\n") {
		t.Fatalf("the facts are shown as %q", got)
	}
	where, claims := boundTo(r.Tool)
	for _, part := range []bound{where, claims} {
		if got := unvisible(t, under(part.heading)); got != strings.Join(part.lines, "\n") {
			t.Fatalf("%s is shown as %q", part.heading, got)
		}
	}
}

// TestUntrustedTextIsNeverMarkup puts a marker into every field somebody else writes and looks where it comes out.
func TestUntrustedTextIsNeverMarkup(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		evil := "MARK <!channel> <@U0ANN> <https://evil.example|Approve> *bold* `x` :white_check_mark: " +
			hostile().Draw(t, "evil")
		args, _ := json.Marshal(map[string]string{"memo": evil})
		r := transfer(string(args))
		r.Tool.Name, r.Tool.Description, r.Tool.Binding, r.Agent = evil, evil, []string{evil}, evil
		r.Path, r.Note, r.Requirement.Policy = []string{evil, evil}, evil, evil
		r.Facts, r.Explanation = []string{evil}, []string{evil}
		r.Tool.Kind = rapid.SampledFrom(everyKind).Draw(t, "kind")
		r.Kind = rapid.SampledFrom(everyQuestion).Draw(t, "question")
		r.Status = rapid.SampledFrom([]approvals.RequestStatus{
			approvals.RequestPending, approvals.RequestApproved, approvals.RequestRejected, approvals.RequestExpired,
		}).Draw(t, "status")
		r.Decisions = []approvals.Decision{{By: user("U0BEN"), Verdict: approvals.Approve, Reason: evil}}
		n := &approvals.Notification{ID: "ntf_1", Text: evil}
		answer, notice := textPosts(n, answerEvent, wordsEmptyAnswer)[0], textPosts(n, noticeEvent, "…")[0]
		shown := map[string][]slack.Block{
			"card": newCard(r).blocks, "answer": answer.blocks, "notice": notice.blocks,
			"details": detailsView(r, 0, rights{decide: true, cancel: true}).Blocks.BlockSet,
			"form":    formView(actRejectReason, r).Blocks.BlockSet,
			"list":    listItem(r, true), "reply": bullets([]phrase{entry{Request: r}.line(r.Created)}),
		}
		for where, blocks := range shown {
			found := 0
			walkText(decoded(t, blocks), func(kind, text string) {
				if !strings.Contains(text, "MARK") {
					return
				}
				found++
				if kind != "text" && kind != "plain_text" {
					t.Fatalf("%s: untrusted text in a %s", where, kind)
				}
			})
			if found == 0 {
				t.Fatalf("%s: the marker is nowhere; the test proves nothing", where)
			}
		}
		for _, text := range []string{newCard(r).text.fallback(), answer.text.fallback()} {
			rest := strings.NewReplacer("<@U0ANN>", "", "<@U0BEN>", "").Replace(text)
			if strings.ContainsAny(rest, "<>") {
				t.Fatalf("markup in a fallback text: %q", text)
			}
		}
		if strings.Contains(newCard(r).text.fallback(), "memo") {
			t.Fatalf("argument values in a fallback text")
		}
	})
}

// walkText calls visit with every text and the type of the object that holds it, and checks emoji and links on the way.
func walkText(v any, visit func(kind, text string)) {
	switch v := v.(type) {
	case []seenBlock:
		for _, e := range v {
			walkText(map[string]any(e), visit)
		}
	case []any:
		for _, e := range v {
			walkText(e, visit)
		}
	case map[string]any:
		kind, _ := v["type"].(string)
		if kind == "plain_text" && v["emoji"] != false {
			kind = "plain_text with emoji"
		}
		for key, e := range v {
			if text, ok := e.(string); ok {
				switch key {
				case "text":
					visit(kind, text)
				case "url", "value", "action_id", "block_id", "user_id", "usergroup_id", "fallback":
					visit(kind+" "+key, text)
				}
				continue
			}
			walkText(e, visit)
		}
	}
}

func TestShownDigestComesBack(t *testing.T) {
	t.Parallel()
	r := transfer(`{}`)
	for _, block := range newCard(r).blocks {
		if d, ok := shownDigest(block.ID()); !ok || d != r.Digest {
			t.Fatalf("block %q brings back %v, %v", block.ID(), d, ok)
		}
	}
	for _, bad := range []string{"", "shown.", "shown.12.1", "other." + r.Digest.String()} {
		if _, ok := shownDigest(bad); ok {
			t.Errorf("%q was taken for a digest", bad)
		}
	}
	seen := map[string]bool{}
	for _, version := range []int64{1, 2} {
		r.Version = version
		for _, block := range newCard(r).blocks {
			if seen[block.ID()] {
				t.Errorf("block id %q is used twice", block.ID())
			}
			seen[block.ID()] = true
		}
	}
}

// TestSmallCallsAreSurelyShown compares the rule that spares rendering with the rendering, at its worst.
func TestSmallCallsAreSurelyShown(t *testing.T) {
	t.Parallel()
	largest := 0
	rapid.Check(t, func(t *rapid.T) {
		special := rapid.SampledFrom([]string{" ", "<", `"`, "\x01", "\u202e", "\U000E0041", "\u00a0", "x"})
		unit := rapid.OneOf(hostile(), special).Draw(t, "unit")
		fill := func(most int) string { return strings.Repeat(unit+"-", most)[:most] }
		r := transfer(fill(rapid.IntRange(0, 500).Draw(t, "size")))
		r.Tool.Binding = nil
		r.Tool.Kind = rapid.SampledFrom(everyKind).Draw(t, "kind")
		for range rapid.IntRange(0, 4).Draw(t, "facts") {
			r.Facts = append(r.Facts, fill(rapid.IntRange(0, 400).Draw(t, "fact")))
		}
		for range rapid.IntRange(0, 40).Draw(t, "lines") {
			r.Explanation = append(r.Explanation, fill(rapid.IntRange(0, 300).Draw(t, "line")))
		}
		for range rapid.IntRange(0, 12).Draw(t, "parts") {
			r.Tool.Binding = append(r.Tool.Binding, fill(rapid.IntRange(0, 80).Draw(t, "part")))
		}
		r.Kind = rapid.SampledFrom(everyQuestion).Draw(t, "question")
		r.Agent, r.Path, r.Tool.Name, r.Requirement.Policy = fill(300), []string{fill(300)}, fill(200), fill(200)
		set := approvals.Approvers{ChannelMembers: true}
		for range rapid.IntRange(0, 10).Draw(t, "approvers") {
			set.Users = append(set.Users, user("U"+strings.Repeat("0", 30)))
		}
		r.Requirement.Seats = approvals.Quorum(rapid.IntRange(1, 3).Draw(t, "quorum"), set)
		for range rapid.IntRange(0, 5).Draw(t, "decisions") {
			r.Decisions = append(r.Decisions, approvals.Decision{
				By: user("somebody at the command line " + fill(100)), Verdict: approvals.AlwaysApprove,
			})
		}
		r.Progress = &approvals.Progress{
			Current: r.Requirement, Changed: rapid.Bool().Draw(t, "changed"),
			Missing: r.Requirement.Seats, MissingNow: r.Requirement.Seats,
		}
		shown := newCard(r)
		if surelyWhole(r) && !shown.whole {
			t.Fatalf("a call of %d bytes and %v is not shown whole", len(r.Arguments), r.Tool.Binding)
		}
		if surelyWhole(r) {
			largest = max(largest, len(shown.encoded))
		}
	})
	if surelyWhole(transfer(strings.Repeat("x", 401))) || !surelyWhole(transfer("{}")) {
		t.Error("the control: the rule does not depend on the size")
	}
	t.Logf("the largest card that was shown whole without a doubt has %d of %d bytes", largest, maxMessage)
}
