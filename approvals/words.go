package approvals

// The words of this package: what people and the model read and is made here, because it is stored (a notice in the
// outbox, a note of a record, what the model is told) or because it has to be the same in Slack, on the command line
// and on the socket (the reasons of refusals). It stands in the files words*.go. What is worded anew each time somebody
// looks stands with the surface: package bot has files of the same name. docs/words.md lists both.
//
// The voice is that of the bot: what happened, to what, by whom, and what to do next, in the present tense; no blame,
// no apology. A reason of a refusal continues a sentence behind a colon: it has no capital and no full stop, and what
// to do instead follows a semicolon. A name says what is said, as in wordsRunCancelled.

// How a point in time is written where nobody's time zone is known.
const wordsTimeUTC = "2006-01-02 15:04 UTC"
