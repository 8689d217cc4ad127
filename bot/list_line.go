package bot

import (
	"slices"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/approvals"
)

// line is what a list says of a request: how old it is or when it ended, what it does, who asked for it where, how it
// stands, its id, and a link to its card.
func (e entry) line(now time.Time) phrase {
	p := phrase{e.when(now), " · ", strong(e.name())}
	if tool := toolName(e.Request); !strings.HasPrefix(e.name(), tool) {
		p = append(p, " ("+tool+")")
	}
	p = append(append(p, " · ", e.Requester, wordsIn), where(e.Place)...)
	p = append(append(append(p, " · "), e.standing()...), " · ", code(string(e.ID)))
	return append(p, e.open()...)
}

// name is the request's headline; where its arguments are not to be repeated, its tool.
func (e entry) name() string {
	if e.shared {
		return toolName(e.Request)
	}
	return headline(e.Request)
}

// when is the age of a request that waits, and the time at which another one was settled.
func (e entry) when(now time.Time) any {
	if e.Status == approvals.RequestPending || e.Settled.IsZero() {
		return age(now.Sub(e.since()))
	}
	return e.Settled
}

// since is when the request began to wait.
func (e entry) since() time.Time {
	if !e.Asked.IsZero() {
		return e.Asked
	}
	return e.Created
}

// age says in one unit how long something has waited.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return wordsNow
	case d < time.Hour:
		return wordsMinutes(int(d.Minutes()))
	case d < 48*time.Hour:
		return wordsHours(int(d.Hours()))
	}
	return wordsDays(int(d.Hours() / 24))
}

// where names a conversation.
func where(p approvals.Place) phrase {
	switch {
	case p.Direct:
		return phrase{wordsDirectMessage}
	case isChannelID(p.Channel):
		return phrase{room(p.Channel)}
	}
	return phrase{wordsChannel(label(p.Channel, 40))}
}

// open leads to the card of the request; nil where nothing does.
func (s setting) open() phrase {
	if s.link == "" {
		return nil
	}
	return phrase{" · ", href{wordsOpen, s.link}}
}

// standing says how a request stands: what it waits for, or who decided and what became of the call.
func (e entry) standing() phrase {
	if e.Status == approvals.RequestPending {
		return append(phrase{wordsPending}, awaits(e.Request)...)
	}
	p := settledBriefly(e.Request)
	if word := callWord(e.Request); word != "" {
		p = append(p, ", ", strong(word))
	}
	return p
}

// settledBriefly says how a request ended and by whom.
func settledBriefly(r *approvals.Request) phrase {
	p := phrase{strong(wordsStatus(r.Status))}
	switch {
	case r.IsQuestion() && r.Status == approvals.RequestApproved:
		p = phrase{strong(wordsAnsweredStatus)}
	case r.Status == approvals.RequestCancelled && r.CancelledBy != "":
		return append(p, wordsBy, r.CancelledBy)
	case r.Status == approvals.RequestSuperseded && len(r.Decisions) > 0:
		return append(p, wordsChangedBy(r.Decisions[len(r.Decisions)-1].By)...)
	}
	p = append(p, settledBy(r)...)
	if s := r.Settler(); s != nil {
		p = append(p, afterword(r, s.Verdict))
	}
	return p
}

// callWord says in a word what became of the call of a request that waits no longer; empty where nothing was to run.
func callWord(r *approvals.Request) string {
	if r.IsQuestion() {
		return ""
	}
	if what := callAwaits(r); what != "" {
		return what
	}
	word := label(string(r.Outcome), 40)
	ended := r.Outcome == approvals.OutcomeRan || r.Outcome == approvals.OutcomeFailed
	if r.TriedAgain && ended && reporter(r) == "" {
		word += wordsWhenTriedAgain
	}
	return word
}

// awaits says what a pending request needs, and of whom.
func awaits(r *approvals.Request) phrase {
	seats := missingSeats(r)
	n := len(seats)
	if r.IsQuestion() || oneAnswers(r) {
		n = min(n, 1)
	}
	lead := needs(r)
	set, uniform := approvals.Requirement{Seats: seats}.Uniform()
	switch {
	case n == 0:
		return phrase{lead, wordsSomebodyWhoMay}
	case untakable(seats):
		return phrase{lead, wordsNobodyMay}
	case uniform && n == 1 && onePerson(set, r.Place):
		return append(phrase{lead}, peopleOf(set, r)...)
	case uniform:
		return append(phrase{lead, wordsCountOf(n)}, peopleOf(set, r)...)
	}
	p := phrase{lead, wordsOneEachOf}
	for i, seat := range seats {
		p = append(append(p, []any{"", "; ", wordsSemicolonAnd}[joint(i, n)]), peopleOf(seat.Approvers, r)...)
	}
	return p
}

// missingSeats are those that nobody has taken yet, as far as is known.
func missingSeats(r *approvals.Request) []approvals.Seat {
	p := r.Progress
	switch {
	case p != nil && p.Changed && len(p.MissingNow) > 0:
		return p.MissingNow
	case p != nil && len(p.Missing) > 0:
		return p.Missing
	}
	return r.Requirement.Seats
}

// mostNamed is how many people and groups a line names.
const mostNamed = 3

// onePerson reports whether the set holds one person, who is known.
func onePerson(a approvals.Approvers, place approvals.Place) bool {
	n := len(a.Users)
	if a.ChannelMembers && place.Direct {
		n++
	}
	return n == 1 && len(a.Groups) == 0 && (place.Direct || !a.ChannelMembers)
}

// peopleOf names people who may answer r, for readers who may be elsewhere.
func peopleOf(a approvals.Approvers, r *approvals.Request) phrase {
	var all []phrase
	for _, u := range a.Users {
		all = append(all, phrase{u})
	}
	for _, g := range a.Groups {
		all = append(all, phrase{group(g)})
	}
	switch {
	case a.ChannelMembers && r.Place.Direct:
		all = append(all, phrase{r.Requester})
	case a.ChannelMembers:
		all = append(all, phrase{wordsMembersElsewhere})
	}
	if left := len(all) - mostNamed; left > 0 {
		all = append(all[:mostNamed], phrase{wordsMore(left)})
	}
	var p phrase
	for i, who := range all {
		p = append(append(p, []any{"", ", ", wordsOr}[joint(i, len(all))]), who...)
	}
	return p
}

// brief reports whether a request is small enough to be shown whole in a list.
func brief(r *approvals.Request) bool {
	n := 0
	for _, s := range newCallText(r).bound() {
		n += len([]rune(s.text))
	}
	return n <= 400
}

// listItem shows one request with the buttons of its card, as a row of the Home tab.
func listItem(r *approvals.Request, mayDecide bool) []slack.Block {
	return entry{Request: r, mayDecide: mayDecide}.row(r.Created)
}

// row shows the request with the buttons of its card.
func (e entry) row(now time.Time) []slack.Block {
	r, whole := e.Request, brief(e.Request) && !e.shared
	blocks := []slack.Block{paragraph(e.heading(now)...)}
	if !e.shared {
		blocks = append(blocks, questionBlocks(r)...)
	}
	if words := whatToDo(r); words != nil && (r.IsQuestion() || r.Kind == agent.FieldsRequired) {
		blocks = append(blocks, paragraph(words)) // which button answers it, and with what
	}
	switch {
	case whole:
		shown, _ := shownCall(r, full)
		blocks = append(blocks, shown...)
	case e.shared:
		blocks = append(blocks, paragraph(wordsNotRepeated()))
	default:
		blocks = append(blocks, paragraph(wordsTooLongForList()))
	}
	for _, row := range e.buttons(whole) {
		if len(row) > 0 {
			blocks = append(blocks, slack.NewActionBlock("", row...))
		}
	}
	blocks = append(blocks, smallPrint(fineprint(r, whole)), slack.NewDividerBlock())
	return stamp(blocks, blockPrefix(r)+"."+string(r.ID))
}

// heading says what the call does, who asked for it where and when, what it needs and until when.
func (e entry) heading(now time.Time) []phrase {
	about := phrase{age(now.Sub(e.since())), " · ", e.Requester, wordsIn}
	about = append(append(about, where(e.Place)...), e.open()...)
	return []phrase{{strong(e.name())}, about, stillAwaits(e.Request)}
}

// stillAwaits says in one line what a pending request needs, of whom and until when.
func stillAwaits(r *approvals.Request) phrase {
	terms := awaits(r)
	if !r.Expires.IsZero() {
		terms = append(terms, wordsUntil(r.Expires)...)
	}
	return capital(terms)
}

// capital begins a phrase with a capital letter.
func capital(p phrase) phrase {
	if first, ok := p[0].(string); ok && first != "" {
		return append(phrase{strings.ToUpper(first[:1]) + first[1:]}, p[1:]...)
	}
	return p
}

// buttons are those of the card, but for those that answer other calls too: they stand on cards alone.
func (e entry) buttons(whole bool) [][]slack.BlockElement {
	if !e.mayDecide {
		return [][]slack.BlockElement{{button(e.Request, actDetails, wordsShowDetails, slack.StyleDefault)}}
	}
	rows := cardButtons(e.Request, whole)
	for i, row := range rows {
		rows[i] = slices.DeleteFunc(row, func(element slack.BlockElement) bool {
			b, ok := element.(*slack.ButtonBlockElement)
			return ok && (b.ActionID == string(actApproveAll) || b.ActionID == string(actRejectAll))
		})
	}
	return rows
}

// leadIn begins what is shown of a request where other things stand around it: what it asks, and who wants that and why
// people are asked.
func leadIn(r *approvals.Request) []phrase {
	lines := append([]phrase{{strong(question(r))}}, askers(r)...)
	return append(lines, changedBy(r)...)
}
