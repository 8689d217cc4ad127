package bot

import (
	"strings"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/visible"
)

// section is a part of what is shown of a call, under a heading of its own.
type section struct {
	heading string
	aside   string // what the heading is followed by
	text    string // rendered visible
	// aid marks what explains or repeats other sections, and what nothing is bound to: where there is no room it is
	// shortened to so many of its lines. Zero for everything that people decide about, which is never shortened.
	aid int
}

// callText is everything that is shown of a call: what the tool is bound to, the arguments and what the call depends
// on, all of which a decision is bound to, and aids to read them.
type callText struct {
	sections []section
	hidden   bool      // something shows nothing, misleads or pads, and is written out
	runs     bool      // people decide whether it runs
	extra    []section // what only the details show, behind the rest
	secret   phrase    // says which values are not shown; nil: all are
}

// newCallText renders what there is to show, in the order of showing.
func newCallText(r *approvals.Request) callText {
	t := callText{runs: r.Kind == agent.Confirm || r.Kind == agent.OutcomeUnknown, secret: secretNote(r)}
	where, claims := boundTo(r.Tool)
	t.add(where.heading, where.aside, where.lines, 0)
	t.add(claims.heading, claims.aside, claims.lines, 0)
	t.add(explanationHeading(r.Tool.Kind), wordsReadOff, r.Mask().Explanation, 6)
	t.addArguments(r)
	t.addChanges(r)
	t.addFields(r)
	t.add(wordsDependsOn, wordsLookedAgain, r.Facts, 0)
	t.addTool(r)
	return t
}

// add appends a section of lines, if there are any. A line break within a line is written out.
func (t *callText) add(heading, aside string, lines []string, aid int) {
	if len(lines) == 0 {
		return
	}
	rendered := make([]string, len(lines))
	for i, line := range lines {
		out, escaped := visible.Text(line, visible.OneLine)
		rendered[i] = out
		t.hidden = t.hidden || escaped
	}
	t.sections = append(t.sections, section{heading, aside, strings.Join(rendered, "\n"), aid})
}

// addArguments appends the canonical arguments, and behind them a script or a patch that they hold as plain text.
func (t *callText) addArguments(r *approvals.Request) {
	out, hidden := visible.Text(r.Shown(), visible.OneLine)
	arguments := section{heading: wordsArguments, aside: wordsAllShown, text: out}
	if t.secret != nil {
		arguments.aside = wordsMasksStand
	}
	plain, ok := plainTextOf(r.Tool.Kind, r.Mask().Arguments)
	if ok && hidden && !plain.hidden { // what is long is indentation
		arguments.aside += wordsSpacesStand
		hidden = false
	}
	t.hidden = t.hidden || hidden || plain.hidden
	t.sections = append(t.sections, arguments)
	if plain.easier {
		t.sections = append(t.sections, section{
			heading: plain.heading, aside: wordsSameEasier, text: plain.text, aid: 1,
		})
	}
}

// addChanges appends how the arguments differ from what the model wrote, and that.
func (t *callText) addChanges(r *approvals.Request) {
	if r.Original == nil {
		return
	}
	var lines []string
	for _, c := range r.Changes() {
		lines = append(lines, c.String())
	}
	t.add(wordsChangedByPeople, wordsModelToRun, lines, 12)
	t.add(wordsModelWrote, "", []string{r.ShownOriginal()}, 1)
}

// addTool appends what the tool says of itself, behind everything that a decision is about. It fills no card.
func (t *callText) addTool(r *approvals.Request) {
	var version []string
	if r.Tool.Version != "" {
		version = []string{r.Tool.Version}
	}
	var description []string
	for line := range strings.SplitSeq(strings.TrimSpace(r.Tool.Description), "\n") {
		if line != "" {
			description = append(description, line)
		}
	}
	t.more(wordsToolSays, "", description)
	t.more(wordsToolVersion, "", version)
	if len(r.Schema) > 0 {
		t.more(wordsToolTakes, wordsJSONSchema, []string{string(r.Schema)})
	}
}

// more appends a section that only the details show. What is odd in it is no reason to warn of the call.
func (t *callText) more(heading, aside string, lines []string) {
	if len(lines) == 0 {
		return
	}
	rendered := make([]string, len(lines))
	for i, line := range lines {
		rendered[i] = visible.Line(line)
	}
	t.extra = append(t.extra, section{heading, aside, strings.Join(rendered, "\n"), 1})
}

// addFields appends what people fill in. It is the question itself, so that all of it is shown.
func (t *callText) addFields(r *approvals.Request) {
	t.add(wordsToFillIn, "", r.FieldLines(), 0)
}

func explanationHeading(kind agent.ToolKind) string {
	switch kind {
	case agent.KindShell:
		return wordsCommands
	case agent.KindApplyPatch:
		return wordsFiles
	}
	return wordsOtherWords
}

// bound returns the sections that a decision is bound to.
func (t callText) bound() []section {
	var out []section
	for _, s := range t.sections {
		if s.aid == 0 {
			out = append(out, s)
		}
	}
	return out
}

// opening joins everything that a decision is bound to, for showing where it begins.
func (t callText) opening() string {
	var texts []string
	for _, s := range t.bound() {
		texts = append(texts, s.text)
	}
	return strings.Join(texts, "\n")
}

// detail is how much of a call a surface shows.
type detail int

const (
	everything detail = iota
	briefly           // the aids shortened
	barely            // without the aids
	settled           // as barely, and nothing is said about what is left out
	opening           // only where the call begins, behind shortened aids
	openingOnly
)

// whole reports whether all is shown that a decision is bound to.
func (d detail) whole() bool { return d < opening }

// blocks shows the call.
func (t callText) blocks(d detail) []slack.Block {
	if !d.whole() {
		return t.openingBlocks(d)
	}
	blocks := t.warnings()
	for _, s := range t.sections {
		if s.aid == 0 || d == everything {
			blocks = append(blocks, s.blocks()...)
		} else {
			blocks = append(blocks, s.shortened(d)...)
		}
	}
	return blocks
}

func (s section) title() phrase { return phrase{strong(s.heading), s.aside} }

func (s section) blocks() []slack.Block {
	return append([]slack.Block{paragraph(s.title())}, boxed(s.text)...)
}

// shortened shows of an aid what there is room for, and says that there is more.
func (s section) shortened(d detail) []slack.Block {
	if d == settled {
		return nil
	}
	const most = 100 // characters of a line
	lines := strings.Split(s.text, "\n")
	kept, cut := lines[:min(s.aid, len(lines))], len(lines) > s.aid
	for i, line := range kept {
		if units(line) > most {
			kept[i], cut = pieces(line, most)[0]+"…", true
		}
	}
	switch {
	case !cut && d != barely:
		return s.blocks()
	case d == barely || s.aid == 1:
		return []slack.Block{paragraph(append(phrase{strong(s.heading)}, wordsLinesInDetails(len(lines))...))}
	}
	title := paragraph(append(phrase{strong(s.heading)}, wordsBeginningOfLines(len(lines))...))
	return append([]slack.Block{title}, boxed(strings.Join(kept, "\n"))...)
}

// warnings say what a reader does not see by looking.
func (t callText) warnings() (blocks []slack.Block) {
	if t.hidden {
		blocks = append(blocks, paragraph(wordsHiddenCharacters()))
	}
	if t.secret != nil {
		blocks = append(blocks, paragraph(t.secret))
	}
	return blocks
}

// openingBlocks shows the beginning of a call that is too large for a message and says so.
func (t callText) openingBlocks(d detail) []slack.Block {
	const shown = 1200
	text := t.opening()
	first := pieces(text, shown)[0]
	lead := wordsOpening(units(first), units(text), t.runs)
	blocks := append(append([]slack.Block{paragraph(lead)}, boxed(first)...), t.warnings()...)
	for _, s := range t.sections {
		if d == opening && s.aid > 0 {
			blocks = append(blocks, s.shortened(briefly)...)
		}
	}
	return blocks
}
