package testfile

import (
	"encoding/json"

	"countersign/internal/agentsfile"
)

// Step is at most one thing that somebody does, and what must come of it. The next step begins when all of it has come.
type Step struct {
	At agentsfile.Position

	// What is done: one of these, or nothing.
	Mention string   `key:"mention"` // what By writes to the bot in a channel
	Message string   `key:"message"` // what By writes to the bot in a direct message
	Click   string   `key:"click"`   // the button that By presses on Card: approve, reject, …
	Command string   `key:"command"` // a slash command by By: /approvals mine
	CLI     []string `key:"cli"`     // a command of this program: [approvals, list]
	Restart string   `key:"restart"` // "kill" or "stop": ends the bot, without or with a warning, and starts it again
	Change  *Change  `key:"change"`  // what becomes of people, groups and channels
	// Callback is the result that the system that got the trigger of Card's call reports.
	Callback json.RawMessage `key:"callback"`

	By     string            `key:"by"`
	In     string            `key:"in"`     // a channel, or "direct"; the only channel when left out
	Thread string            `key:"thread"` // a name for the thread that the step begins or goes on with
	Card   string            `key:"card"`   // the name of a card of an earlier step
	Fill   map[string]string `key:"fill"`   // the form that a click opens, by words of its labels

	// What must come of it.
	Cards     []Card            `key:"cards"`      // new ones, in their order
	Opens     []string          `key:"opens"`      // texts of the window that a click opens
	Status    string            `key:"status"`     // of Card
	Outcome   string            `key:"outcome"`    // of the call of Card
	DecidedBy *[]string         `key:"decided_by"` // of Card: the people whose answers count, in their order
	Shows     []string          `key:"shows"`      // texts of Card
	Calls     []Received        `key:"calls"`      // what servers receive
	Says      []string          `key:"says"`       // texts of messages of the bot, one message each
	Told      []string          `key:"told"`       // texts that only By sees, one message each
	Run       string            `key:"run"`        // done, failed, cancelled or waiting
	Audit     []Entry           `key:"audit"`      // of the trail, in their order; others may lie between
	Files     map[string]string `key:"files"`      // what is in the folder that agents work in
	Exit      int               `key:"exit"`       // of CLI
	Prints    []string          `key:"prints"`     // by CLI
}

// Card is a card that must appear.
type Card struct {
	At    agentsfile.Position
	Name  string          `key:"name,need"` // for later steps
	Tool  string          `key:"tool,need"`
	Agent string          `key:"agent"`
	Args  json.RawMessage `key:"args"` // all of them, in any order
	Shows []string        `key:"shows"`
	Hides []string        `key:"hides"` // what must not be on it
}

// Received is a request that a server must receive.
type Received struct {
	At      agentsfile.Position
	Server  string            `key:"server,need"`
	Request string            `key:"request,need"`
	Body    json.RawMessage   `key:"body"`     // JSON that must be equal; no body when left out
	AnyBody bool              `key:"any_body"` // whatever the body
	Has     json.RawMessage   `key:"has"`      // members of the body, which may have others
	Headers map[string]string `key:"headers"`
	// What it is answered with instead of by the server's route.
	Status int             `key:"status"`
	JSON   json.RawMessage `key:"json"`
	Text   *string         `key:"text"`
}

// Answers reports whether the request has an answer of its own.
func (r *Received) Answers() bool { return r.Status != 0 || r.JSON != nil || r.Text != nil }

// Entry is an entry of the audit trail.
type Entry struct {
	At     agentsfile.Position
	Action string            `key:"action,need"`
	By     string            `key:"by"`   // a person, or system
	Card   string            `key:"card"` // whose request it is about
	Data   map[string]string `key:"data"` // members of its data
}

// Change is what becomes of people, groups and channels from this step on.
type Change struct {
	At       agentsfile.Position
	People   map[string]Person  `key:"people"`
	Groups   map[string]Group   `key:"groups"`
	Channels map[string]Channel `key:"channels"`
}
