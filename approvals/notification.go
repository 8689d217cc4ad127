package approvals

import (
	"context"
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
)

// Notification is an entry of the outbox: written in the transaction of what it tells, delivered afterwards at least
// once, in order within its place.
type Notification struct {
	Workspace WorkspaceID      `json:"workspace"`
	ID        NotificationID   `json:"id"`
	Kind      NotificationKind `json:"kind"`
	Place     Place            `json:"place"`
	Run       RunID            `json:"run"`
	Request   RequestID        `json:"request,omitempty"`
	// Text is what to say; it may hold text of the model and of people and is never markup. Empty for cards.
	Text    string    `json:"text,omitempty"`
	Created time.Time `json:"created"`
	// Attempts is how often in a row its delivery was begun and failed, as far as is known: a process that died in the
	// middle of one could not count it.
	Attempts int `json:"attempts,omitempty"`

	// Card is the request as it stands at delivery, for NotifyCard. It is not stored.
	Card *Request `json:"-"`
}

// Delivery says where a notification is to be seen.
type Delivery struct {
	Channel string
	Message string
}

// Notifier shows notifications on a surface. Notify may be called again with the same ID after an unknown outcome and
// must not show the same thing twice if it can find out. A *RetryError asks for a later attempt, ErrUndeliverable says
// that no attempt can succeed; any other error is retried with back-off.
type Notifier interface {
	Notify(ctx context.Context, n *Notification) (Delivery, error)
}

// RetryError asks to repeat a delivery not before After has passed.
type RetryError struct {
	After time.Duration
	Err   error
}

func (e *RetryError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *RetryError) Unwrap() error { return e.Err }
