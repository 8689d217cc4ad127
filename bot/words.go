package bot

// The words of the bot: everything that people read in Slack, and on the page of the installation, stands in the files
// words*.go, one for each surface. docs/words.md lists it in the same order.
//
// A name says what is said, as in wordsRunCancelled. What never differs is a constant; what does is a function of plain
// values, which knows plurals and parts that may be absent and nothing else. When something is said is decided where it
// is called.
//
// One voice: what happened, to what, by whom, and what to do next, in that order, in the present tense. I is the bot,
// you is the reader. No blame, no exclamation mark, no apology, no please. What people wrote stands in quotes; a name
// stands where there is one, and an id only where there is none. A sentence ends in a full stop; labels, headings and
// lines of a list do not. The glossary has the nouns.

// The formats of points in time: Slack shows them in the reader's own time zone.
const (
	wordsDateAndTime = "{date_short_pretty} at {time}"
	wordsTimeOfDay   = "{time}"
	wordsTimeUTC     = "2006-01-02 15:04 UTC" // where Slack does not
)
