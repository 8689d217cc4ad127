package bot

import (
	"bytes"
	"encoding/json"

	"slices"
	"strings"
	"unicode/utf8"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/visible"

	"github.com/slack-go/slack"
)

// cardCall is a call as its card shows it: arguments as rows or boxes, and where they go. It shows every argument, and
// different arguments look different; the canonical form stands in the details.
type cardCall struct {
	rows  []row // on a line each
	boxes []row // long values, below the rows
	// ahead are read-off lines about a script or a patch, which stand above the boxes; behind below them.
	ahead, behind []phrase
	where         []phrase // where the call goes and what it depends on
	claims        []string // what a server says about its own tool
	claimant      string
	hidden, mixed bool
	withheld      []string // names of secret arguments
}

// row is an argument with its rendered value. note says how much of a boxed value there is.
type row struct{ name, note, text string }

// The bounds of what stands in rows.
const (
	maxRows     = 24
	maxRowValue = 80 // characters; longer values stand in boxes
)

// newCardCall renders the call of a request.
func newCardCall(r *approvals.Request) *cardCall {
	c := &cardCall{withheld: r.Withheld()}
	m := r.Mask()
	if !c.addFields(r, m.Arguments) {
		c.rows, c.boxes = nil, nil
		c.addJSON(r)
	}
	c.readOff(r.Tool.Kind, m.Explanation)
	c.addWhere(r)
	for _, line := range r.FieldLines() {
		c.addLine(&c.behind, phrase{strong(wordsFillInRow), "  "}, line)
	}
	return c
}

// visible renders a part and remembers what was found in it.
func (c *cardCall) visible(s string, mode visible.Mode) string {
	out, escaped := visible.Text(s, mode)
	c.hidden = c.hidden || escaped
	c.mixed = c.mixed || visible.Mixed(s)
	return out
}

// addLine appends lead and the rendered text as a line.
func (c *cardCall) addLine(lines *[]phrase, lead phrase, text string) {
	*lines = append(*lines, append(lead, c.visible(text, visible.OneLine)))
}

// member is a name and a value of an object.
type member struct {
	name  string
	value json.RawMessage
}

// membersOf takes an object apart, in its order. It is asked several times for each card: a json.Decoder makes an error
// value for each member that it passes.
func membersOf(object json.RawMessage) (all []member, ok bool) {
	w := walker{raw: object}
	if w.space(); !json.Valid(object) || !w.is('{') {
		return nil, false
	}
	w.pass('{')
	for w.space(); !w.is('}'); w.space() {
		name, ok := w.name()
		if !ok {
			return nil, false
		}
		w.space()
		w.pass(':')
		w.space()
		begin := w.at
		w.value()
		if w.lost {
			return nil, false
		}
		all = append(all, member{name, object[begin:w.at:w.at]})
		if w.space(); w.is(',') {
			w.at++
		}
	}
	return all, true
}

// addFields renders arguments as rows and boxes, in the order of the schema; false: they do not fit that form.
func (c *cardCall) addFields(r *approvals.Request, arguments json.RawMessage) bool {
	all, ok := membersOf(arguments)
	if !ok || len(all) > maxRows {
		return false
	}
	slices.SortStableFunc(all, func(a, b member) int { return orderOf(r.Order, a.name) - orderOf(r.Order, b.name) })
	for _, m := range all {
		if !rowName(m.name) {
			return false
		}
		if slices.Contains(r.Secret, m.name) {
			c.rows = append(c.rows, row{name: m.name, text: strings.Trim(string(m.value), `"`)})
			continue
		}
		if !c.addField(r.Tool.Kind, m) {
			return false
		}
	}
	return true
}

func orderOf(order []string, name string) int {
	if i := slices.Index(order, name); i >= 0 {
		return i
	}
	return len(order)
}

// rowName reports whether a name can stand as a label without being taken for anything else.
func rowName(s string) bool {
	const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-."
	return s != "" && len(s) <= 40 && strings.Trim(s, plain) == ""
}

// addField renders one argument; false: it is nested too deep for a row.
func (c *cardCall) addField(kind agent.ToolKind, m member) bool {
	switch m.value[0] {
	case '"':
		var text string
		if json.Unmarshal(m.value, &text) != nil {
			return false
		}
		c.addText(kind, m, text)
		return true
	case '{', '[':
		if list, ok := words(kind, m); ok {
			p := numbered("", list)
			c.hidden = c.hidden || p.hidden
			c.boxes = append(c.boxes, row{m.name, wordsNumberedParts(len(list)), p.text})
			return true
		}
		if len(m.value) > maxRowValue {
			return false
		}
	}
	c.rows = append(c.rows, row{name: m.name, text: c.visible(string(m.value), visible.OneLine)})
	return true
}

// words are the program and its arguments, or the scripts, of a call of a shell.
func words(kind agent.ToolKind, m member) (list []string, ok bool) {
	if kind != agent.KindShell || m.name != "argv" && m.name != "commands" {
		return nil, false
	}
	return list, json.Unmarshal(m.value, &list) == nil && len(list) > 0
}

// addText renders a text: in a row, in quotes where it could be taken for something else, or with its line breaks and
// its length in a box where it is long or has more than words in it.
func (c *cardCall) addText(kind agent.ToolKind, m member, text string) {
	always := kind == agent.KindShell && m.name == "script" ||
		kind == agent.KindApplyPatch && (m.name == "patch" || m.name == "diff")
	if !always && oneRow(text) {
		if bareText(text) {
			c.rows = append(c.rows, row{name: m.name, text: c.visible(text, visible.OneLine)})
		} else {
			c.rows = append(c.rows, row{name: m.name, text: c.visible(string(m.value), visible.OneLine)})
		}
		return
	}
	mode := visible.Source
	if kind == agent.KindApplyPatch {
		mode = visible.Patch
	}
	shown, broken := strings.CutSuffix(text, "\n")
	note := wordsTextLength(strings.Count(shown, "\n")+1, utf8.RuneCountInString(text), broken)
	c.boxes = append(c.boxes, row{m.name, note, c.visible(shown, mode)})
}

// oneRow reports whether a text shows all of itself on one line.
func oneRow(text string) bool {
	return utf8.RuneCountInString(text) <= maxRowValue && !strings.ContainsAny(text, "\n\r\t") &&
		!strings.Contains(text, "  ") && strings.TrimSpace(text) == text
}

// bareText reports whether a text without quotes can be taken for nothing but a text.
func bareText(text string) bool {
	return text != "" && !strings.ContainsAny(text[:1], `"[{`) && !strings.HasPrefix(text, "•••") &&
		!json.Valid([]byte(text))
}

// addJSON renders arguments that are no flat object, indented.
func (c *cardCall) addJSON(r *approvals.Request) {
	shown := []byte(r.Shown())
	var b bytes.Buffer
	note := wordsJSONLength(utf8.RuneCount(shown))
	if json.Indent(&b, shown, "", "  ") != nil { // masks stand without quotes
		b.Reset()
		b.Write(shown)
	}
	c.boxes = append(c.boxes, row{wordsArgumentsRow, note, c.visible(b.String(), visible.Source)})
}

// readOff sorts what was read off a script or a patch: what runs or changes, and what one has to be careful about.
func (c *cardCall) readOff(kind agent.ToolKind, lines []string) {
	var runs []string
	for _, line := range lines {
		switch command, isRun := strings.CutPrefix(line, "runs "); {
		case kind == agent.KindApplyPatch:
			c.ahead = append(c.ahead, phrase{strings.Replace(c.visible(line, visible.OneLine), " -", " −", 1)})
		case isRun:
			runs = append(runs, label(command, 120)) // an aid: the script is judged where it stands
		default:
			c.addLine(&c.behind, nil, line)
		}
	}
	if len(runs) > 0 {
		const most = 8
		text := strings.Join(runs[:min(most, len(runs))], ", ")
		if left := len(runs) - most; left > 0 {
			text += wordsAndMore(left)
		}
		c.behind = append([]phrase{{strong(wordsRunsRow), "  " + text}}, c.behind...)
	}
}

// addWhere says where the call goes, and what it depends on. Of contents the digest of the card stands for theirs.
func (c *cardCall) addWhere(r *approvals.Request) {
	where, claims := boundTo(r.Tool)
	name := wordsWhere[r.Tool.Kind]
	if name == "" {
		name = wordsBoundRow
	}
	if r.Tool.Kind == agent.KindHTTP && len(where.lines) > 1 {
		where.lines = where.lines[:1] // which headers go along is in the details: their values are nobody's to judge
	}
	c.addList(name, where.lines)
	c.claimant = wordsTheServer
	for _, part := range r.Tool.Binding {
		if server, ok := strings.CutPrefix(part, "server="); ok {
			c.claimant = label(server, 80)
			break
		}
	}
	for _, line := range claims.lines {
		c.claims = append(c.claims, c.visible(line, visible.OneLine))
	}
	var facts []string
	for _, fact := range r.Facts {
		facts = append(facts, factWords(fact))
	}
	c.addList(wordsDependsRow, facts)
}

// factWords names a thing by whose content a call is bound, without the content's digest.
func factWords(fact string) string {
	const hexDigits = 64
	i := strings.LastIndex(fact, " sha256:")
	end := i + len(" sha256:") + hexDigits
	if i < 0 || len(fact) < end || len(fact) > end && fact[end] != ' ' {
		return fact
	}
	return wordsContentOf(strings.TrimPrefix(fact[:i], "program ")) + fact[end:]
}

// addList appends a list to where, on a line where its parts can be told apart.
func (c *cardCall) addList(name string, parts []string) {
	if len(parts) == 0 {
		return
	}
	const separator = " · "
	var out []string
	apart := separator
	for _, part := range parts {
		if strings.Contains(part, "·") {
			apart = "\n"
		}
		out = append(out, c.visible(part, visible.OneLine))
	}
	c.where = append(c.where, phrase{strong(name), "  ", strings.Join(out, apart)})
}

// extent is how much of a call a card shows.
type extent int

const (
	full      extent = iota
	bare             // without what was read off
	beginning        // long values are cut
	least            // and nothing else is shown
)

// The bounds of a long value on a card that cannot hold all of it.
const (
	openingLines = 40
	openingUnits = 1500
)

// blocks shows the call, and reports whether all of it is shown.
func (c *cardCall) blocks(x extent) (blocks []slack.Block, complete bool) {
	complete = x < beginning
	var lines []phrase
	for _, f := range c.rows {
		lines = append(lines, phrase{strong(f.name), "  ", f.text})
	}
	if len(lines) > 0 {
		if x == least {
			lines = lines[:min(4, len(lines))]
		}
		blocks = append(blocks, paragraph(lines...))
	}
	if x == full && len(c.ahead) > 0 {
		blocks = append(blocks, longParagraph(c.ahead...))
	}
	left := openingUnits
	for _, f := range c.boxes {
		text := f.text
		if x >= beginning {
			text = firstLines(text, left)
			left = max(left-units(text), 0)
		}
		if text == "" && f.text != "" {
			blocks = append(blocks, paragraph(append(phrase{strong(f.name), f.note}, wordsInDetails()...)))
			continue
		}
		title := phrase{strong(f.name), f.note}
		if text != f.text {
			title = append(title, wordsBeginning()...)
		}
		blocks = append(append(blocks, paragraph(title)), boxed(text)...)
	}
	if x == least {
		return blocks, false
	}
	if x == full && len(c.behind) > 0 {
		blocks = append(blocks, longParagraph(c.behind...))
	}
	if len(c.where) > 0 {
		blocks = append(blocks, longParagraph(c.where...))
	}
	if len(c.claims) > 0 {
		lead := phrase{strong(c.claimant), wordsSaysOfItsOwn}
		blocks = append(blocks, paragraph(lead),
			quoted(strings.Join(c.claims, "\n")))
	}
	return append(blocks, c.warnings()...), complete
}

// longParagraph is paragraph for lines whose texts may be too long for one element.
func longParagraph(lines ...phrase) slack.Block {
	all := make([]phrase, len(lines))
	for i, line := range lines {
		all[i] = inPieces(line)
	}
	return paragraph(all...)
}

// firstLines is the beginning of a text, of whole lines where that goes.
func firstLines(text string, most int) string {
	if most <= 0 {
		return ""
	}
	lines := strings.SplitAfterN(text, "\n", openingLines+1)
	first := strings.Join(lines[:min(openingLines, len(lines))], "")
	return pieces(first, most)[0]
}

// warnings say what a reader does not see by looking.
func (c *cardCall) warnings() []slack.Block {
	var lines []phrase
	if c.hidden {
		lines = append(lines, wordsHiddenCharacters())
	}
	if c.mixed {
		lines = append(lines, wordsMixedAlphabets())
	}
	if len(lines) == 0 {
		return nil
	}
	return []slack.Block{paragraph(lines...)}
}
