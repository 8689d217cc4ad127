package slackdev

import (
	"encoding/json"
	"time"
)

// Message is a stored message. Values returned by a Workspace are snapshots.
type Message struct {
	Channel  string
	TS       string
	ThreadTS string // the parent's TS in a reply, and in a parent that has replies
	User     string // author; the bot user for the app's own messages
	BotID    string // set when an app wrote it
	Text     string
	Blocks   json.RawMessage // nil or a JSON array, block and action ids filled in
	Metadata *Metadata

	Edited    bool
	Broadcast bool // a reply shown in the channel too
	Deleted   bool // what is left of a deleted message that has replies
	Ephemeral bool
	VisibleTo string // the one person who sees an ephemeral message

	// Revision counts changes of this message, beginning with 1.
	Revision int
	// UnfurlLinks and UnfurlMedia are what the app asked for; Slack's default is true.
	UnfurlLinks, UnfurlMedia bool

	// Reactions are what people and apps have put under the message, in the order in which they came.
	Reactions []Reaction

	stream      *stream // of a message that is, or was, written piece by piece
	streaming   string  // its state
	clientMsgID string
	files       []File
	appID       string
}

// Metadata is what an app attached to a message.
type Metadata struct {
	EventType    string         `json:"event_type"`
	EventPayload map[string]any `json:"event_payload"`
}

// Button is a button found in a message or view.
type Button struct {
	ActionID string
	BlockID  string
	Value    string
	Text     string
	Style    string
	URL      string
	Confirm  bool
}

// View is a modal or a Home tab as the app last defined it.
type View struct {
	ID              string
	User            string // who sees it
	Type            string // "modal" or "home"
	CallbackID      string
	PrivateMetadata string
	ExternalID      string
	Hash            string
	RootID          string
	PreviousID      string
	Title           string
	SubmitLabel     string
	CloseLabel      string
	NotifyOnClose   bool
	ClearOnClose    bool
	Blocks          json.RawMessage

	def      map[string]any
	revision int
}

// Call is one request to the Web API or to a response URL (Method
// "response_url"), in the order in which they arrived.
type Call struct {
	Method  string
	Args    map[string]any // without the token; JSON texts in form fields are decoded
	Time    time.Time
	Took    time.Duration
	Status  int            // HTTP status of the answer, 0 while it is open or when the connection was reset
	OK      bool           // the "ok" of the answer
	Error   string         // the "error" of the answer
	Answer  map[string]any // as sent
	Faulted bool           // a [Fault] decided the answer
}

// Delivery is one attempt to hand a payload to the app.
type Delivery struct {
	ID      string // envelope id in Socket Mode; invented in HTTP mode
	Kind    string // "events_api", "interactive" or "slash_commands"
	Type    string // inner type: "app_mention", "block_actions", "/approvals", …
	EventID string // Ev…, events only
	Attempt int    // 0, then 1, 2, 3 for redeliveries
	Reason  string // why it is a redelivery
	Conn    int    // which Socket Mode connection, counted from 1; 0 when there was none
	Payload json.RawMessage

	Sent       time.Time
	Acked      time.Time // zero while there is no acknowledgement in time
	AckPayload json.RawMessage
	Error      string // why the attempt failed
}

// Click says which element a person uses. The element is looked up in the
// message (Channel and TS), in the view (ViewID), or, when none of these is
// given, in the person's open modal and then in their Home tab.
type Click struct {
	User     string
	Channel  string
	TS       string
	ViewID   string
	BlockID  string // needed only where several elements share an action id
	ActionID string
	Value    string // buttons: picks the one with this value; selects and others: the chosen value
	// State holds what was typed into input blocks: block id, action id, value.
	// Missing inputs have their initial values.
	State map[string]map[string]any
}
