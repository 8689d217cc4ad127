package agent

import (
	"cmp"
	"fmt"
	"slices"
)

// maxNote bounds what an application may say in an agent's place: it is saved with every head.
const maxNote = 1 << 20

// omission is what the model is not shown any more of a conversation, because it has become long. It is replaced, never
// changed.
type omission struct {
	Spans []span `json:"spans"` // of the conversation's items: whole turns, in order, none next to another
	Note  string `json:"note"`  // what the model reads instead, where the first of them was
}

// base is the index of the first item that the model could be shown: a handoff may have put copies in the place of what
// precedes them.
func (f *frame) base() int {
	if n := len(f.copies); n > 0 {
		return f.copies[n-1].From
	}
	return 0
}

// visible returns the items that the model sees.
func (f *frame) visible() []Item {
	from := f.base()
	if f.leftOut == nil {
		return f.items[from:]
	}
	shown := make([]Item, 0, len(f.items)-from)
	for n, s := range f.leftOut.Spans {
		shown = append(shown, f.items[from:s.From]...)
		if n == 0 {
			shown = append(shown, Item{Type: ItemMessage, Role: RoleDeveloper, Text: f.leftOut.Note})
		}
		from = s.To
	}
	return append(shown, f.items[from:]...)
}

// hiddenCalls returns the ids of the calls made here that the model does not see any more, in the order of the calls.
func (f *frame) hiddenCalls() []string {
	if f.base() == 0 && f.leftOut == nil {
		return nil
	}
	shown := make(map[string]bool)
	for _, it := range f.visible() {
		shown[it.CallID] = true
	}
	var hidden []string
	for i := f.input; i < len(f.items); i++ {
		if it := &f.items[i]; it.IsCall() && !shown[it.CallID] && !f.copied(i) {
			hidden = append(hidden, it.CallID)
		}
	}
	return hidden
}

// history returns what the model would be shown, and where the items of each turn are.
func (f *frame) history() (*History, []span) {
	h := &History{}
	var left []span
	if f.leftOut != nil {
		h.Note, left = f.leftOut.Note, f.leftOut.Spans
	}
	asked := f.asked()
	var shown []span
	for _, t := range turnsOf(f.items, f.base()) {
		if slices.ContainsFunc(left, func(s span) bool { return s.From <= t.From && t.To <= s.To }) {
			h.LeftOut++
			continue
		}
		turn := HistoryTurn{Items: slices.Clip(f.items[t.From:t.To])}
		size := 0
		for i := range turn.Items {
			size += turn.Items[i].bytes()
			turn.Asked = turn.Asked || asked(t.From+i)
		}
		turn.Tokens = (size + bytesPerToken - 1) / bytesPerToken
		h.Turns, shown = append(h.Turns, turn), append(shown, t)
	}
	return h, shown
}

// leaveOut takes over what of the history is left out from now on, and reports whether that is more than before. shown
// are its turns, and note is the note as it was.
func (f *frame) leaveOut(h *History, shown []span, note string) (more bool, err error) {
	if len(h.Turns) != len(shown) {
		return false, fmt.Errorf("%w: it took turns away or added some; it can only set LeaveOut", ErrConfig)
	}
	var spans []span
	if f.leftOut != nil {
		spans = slices.Clone(f.leftOut.Spans)
	}
	turns := h.LeftOut
	for i := range h.Turns {
		if h.Turns[i].LeaveOut {
			spans = append(spans, shown[i])
			turns++
		}
	}
	switch n := len(shown); {
	case turns == h.LeftOut:
		return false, nil
	case h.Turns[n-1].LeaveOut:
		return false, fmt.Errorf("%w: it left out the last turn, which the model is to answer", ErrConfig)
	}
	if len(h.Note) > maxNote {
		return false, fmt.Errorf("%w: its note has %d bytes, and at most %d are kept", ErrConfig, len(h.Note), maxNote)
	}
	h.LeftOut = turns
	if h.Note == note {
		h.Note = noteOf(turns)
	}
	h.Note = validText(h.Note)
	f.leftOut = &omission{Spans: joined(spans), Note: h.Note}
	return true, nil
}

// joined sorts spans and makes one of those that touch.
func joined(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.From, b.From) })
	list := spans[:0]
	for _, s := range spans {
		if n := len(list); n > 0 && list[n-1].To == s.From {
			list[n-1].To = s.To
			continue
		}
		list = append(list, s)
	}
	return list
}

// asked tells which messages say what the conversation is about: those that were added to it, and the last ones that
// were said to the agent before it began.
func (f *frame) asked() func(i int) bool {
	began := f.input
	if n := len(f.copies); n > 0 {
		began = f.copies[n-1].To
	}
	last := began
	for last > f.base() && !f.items[last-1].addresses() {
		last--
	}
	first := last
	for first > f.base() && f.items[first-1].addresses() {
		first--
	}
	return func(i int) bool { return f.items[i].addresses() && (i >= began || first <= i && i < last) }
}

// addresses reports whether the item is a message to the agent.
func (it *Item) addresses() bool {
	return it.Type == ItemMessage && it.Role != RoleAssistant && it.Role != ""
}

// turnsOf divides the items from the index on into turns: messages to the agent, and what a model answered with the
// outputs of its calls. A call and its output are in one turn however far apart they stand.
func turnsOf(items []Item, from int) []span {
	var turns []span
	open := make(map[string]int) // turns of the calls that have no output yet
	for i := from; i < len(items); i++ {
		it := &items[i]
		if i == from || it.addresses() || items[i-1].addresses() || items[i-1].IsOutput() && !it.IsOutput() {
			turns = append(turns, span{From: i, To: i})
		}
		turns[len(turns)-1].To = i + 1
		switch n, ok := open[it.CallID]; {
		case it.IsCall():
			open[it.CallID] = len(turns) - 1
		case it.IsOutput() && ok:
			delete(open, it.CallID)
			if n == len(turns)-1 {
				continue
			}
			turns[n].To, turns = i+1, turns[:n+1]
			for id, other := range open {
				open[id] = min(n, other)
			}
		}
	}
	return turns
}

// checkLeftOut returns what is wrong with what a saved conversation leaves out, or nothing.
func (f *frame) checkLeftOut() string {
	if f.leftOut == nil {
		return ""
	}
	begins, ends := make(map[int]bool), make(map[int]bool)
	for _, t := range turnsOf(f.items, f.base()) {
		begins[t.From], ends[t.To] = true, true
	}
	last := -1
	for _, s := range f.leftOut.Spans {
		if s.From <= last || s.To <= s.From || s.To >= len(f.items) || !begins[s.From] || !ends[s.To] {
			return "it does not hold whole turns"
		}
		last = s.To
	}
	if last < 0 {
		return "it holds nothing"
	}
	return ""
}
