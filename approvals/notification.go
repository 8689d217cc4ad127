package approvals

import (
	"context"
	"net/url"
	"time"
)

// NotificationKind says what a notification asks the surface to show.
type NotificationKind string

// The kinds of notifications.
const (
	// NotifyCard shows a request, or brings the message that shows it up to date.
	NotifyCard NotificationKind = "card"
	// NotifyAnswer posts the run's answer.
	NotifyAnswer NotificationKind = "answer"
	// NotifyNotice posts a sentence for the people in the conversation.
	NotifyNotice NotificationKind = "notice"
	// NotifyReminder says that a request still waits, who could answer it, and until when.
	NotifyReminder NotificationKind = "reminder"
	// NotifyEscalation says that from now on more people may answer a request, and names them.
	NotifyEscalation NotificationKind = "escalation"
	// NotifyState shows on the message that asked for a run how it stands.
	NotifyState NotificationKind = "state"
)

// aboutRequest reports whether a notification of the kind is rendered from its request as it stands at delivery.
func (k NotificationKind) aboutRequest() bool {
	return k == NotifyCard || k == NotifyReminder || k == NotifyEscalation
}

// Copy says for whom a notification of a place is: the zero Copy for the place itself, else one more audience, such as
// "dm:U1", "channel:C7" or "home:U1", as the surface names people and channels.
type Copy string

// JobID is the ID of the JobDeliver that delivers the queue.
func (k CopyKey) JobID() string {
	if k.Copy == "" {
		return k.Place.Key()
	}
	return k.Place.Key() + "#" + url.PathEscape(string(k.Copy))
}

// Notification is an entry of the outbox, one copy for one audience: written in the transaction of what it tells,
// delivered afterwards at least once, in order within its place and copy.
type Notification struct {
	Workspace WorkspaceID      `json:"workspace"`
	ID        NotificationID   `json:"id"`
	Kind      NotificationKind `json:"kind"`
	Place     Place            `json:"place"`
	Run       RunID            `json:"run"`
	Request   RequestID        `json:"request,omitempty"`
	// Text is what to say; it may hold text of the model and of people and is never markup. Empty for cards and
	// reminders.
	Text    string    `json:"text,omitempty"`
	Created time.Time `json:"created"`
	// Attempts is how often in a row its delivery was begun and failed, as far as is known: a process that died in the
	// middle of one could not count it.
	Attempts int `json:"attempts,omitempty"`

	Copy Copy `json:"copy,omitempty"`
	// Owner delivers it until LeaseUntil, in a store that several processes use.
	Owner      string    `json:"owner,omitempty"`
	LeaseUntil time.Time `json:"lease_until,omitzero"`
	// Dead is when it was given up, Why for what reason. A dead letter is listed and can be sent again; nobody waits
	// for it.
	Dead time.Time `json:"dead,omitzero"`
	Why  string    `json:"why,omitempty"`

	// By is the person with whom the sentence begins that Text continues: surfaces name them before it.
	By UserID `json:"by,omitempty"`
	// To is the person whom the sentence is said to: surfaces mention them before everything else.
	To UserID `json:"to,omitempty"`

	// Begun says that a delivery may have begun before this one, by a worker that may be gone: the notification may be
	// to be seen already. It is set in a store that several processes use.
	Begun bool `json:"begun,omitempty"`
	// Anew says that who reads the place may have changed: what was known of it before does not hold any more.
	Anew bool `json:"anew,omitempty"`

	// Streams is Run.Streams when this was written, where the run was at hand: the surface finds those messages, and
	// leaves none that looks like an answer.
	Streams int `json:"streams,omitempty"`
	// Trace refers to the span of what wrote this, as Run.Trace does.
	Trace string `json:"trace,omitempty"`

	// Card is the request as it stands at delivery, for all kinds but NotifyAnswer, NotifyNotice and NotifyState. It is
	// not stored, and neither is what follows.
	Card *Request `json:"-"`
	// Waiting are requests that wait for the one person whom the copy is for, by id, and WaitingAll how many there are.
	// They are filled in where a message lists them, or should because they are too many for a card each.
	Waiting    []*Request `json:"-"`
	WaitingAll int        `json:"-"`
	// Marked is the run as it stands at delivery of a NotifyState.
	Marked *Marked `json:"-"`
}

// Key names the queue that the notification waits in.
func (n *Notification) Key() CopyKey { return CopyKey{n.Workspace, n.Place, n.Copy} }

// Delivery says where a notification is to be seen, and how: see Card.
type Delivery struct {
	Channel string
	Message string
	List    bool
	Bare    bool
	// Listed is the message in the same channel, beside Message, that lists what waits for the person and was brought
	// up to date.
	Listed string
}

// card is the message as the records of the requests have it that it shows.
func (d Delivery) card(n *Notification) Card {
	return Card{Channel: d.Channel, Message: d.Message, Copy: n.Copy, List: d.List, Bare: d.Bare}
}

// Notifier shows notifications on a surface. Notify may be called again with the same ID after an unknown outcome and
// must not show the same thing twice if it can find out: see Notification.Begun and Attempts. Past the deadline of ctx
// somebody else may deliver it: nothing may be begun then. A *RetryError asks for a later attempt, ErrUndeliverable
// says that no attempt can succeed, together with ErrUnreachable because of the place; any other error is retried with
// back-off.
type Notifier interface {
	Notify(ctx context.Context, n *Notification) (Delivery, error)
}

// RetryError asks to repeat a delivery not before After has passed.
type RetryError struct {
	After time.Duration
	Err   error
	// Unsent says of a delivery that nothing of it went out: the next one need not look for it.
	Unsent bool
	// Uncounted says of a job that it has not failed: Job.Attempts stays as it is.
	Uncounted bool
}

func (e *RetryError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *RetryError) Unwrap() error { return e.Err }
