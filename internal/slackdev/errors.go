package slackdev

import (
	"errors"
	"fmt"
)

// What a person in front of Slack would see, as errors.
var (
	// ErrTrouble is Slack's warning next to a button, in a modal or under a
	// command: the app did not acknowledge in time, or not in a usable way.
	ErrTrouble = errors.New("we had some trouble connecting, try again?")
	// ErrNoElement means that there is no such button or input to use.
	ErrNoElement = errors.New("no such element")
	// ErrNoMessage means that the message is not there (any more).
	ErrNoMessage = errors.New("no such message")
	// ErrNoView means that the person has no such view open.
	ErrNoView = errors.New("no such view")
	// ErrNotMember means that the person is not in that channel.
	ErrNotMember = errors.New("not a member of the channel")
	// ErrArchived means that the channel is archived.
	ErrArchived = errors.New("the channel is archived")
	// ErrRestricted means that only admins may post in the channel.
	ErrRestricted = errors.New("only admins may post in the channel")
	// ErrUnknown names a user, channel, event or command that does not exist.
	ErrUnknown = errors.New("unknown")
	// ErrInvalidInput means that Slack's client refuses to submit the form:
	// a required input is empty, or a text is too short or too long.
	ErrInvalidInput = errors.New("invalid input")
	// ErrClosed is returned once the workspace is closed.
	ErrClosed = errors.New("workspace is closed")
)

// apiError is an answer with "ok": false.
type apiError struct {
	code     string
	needed   string   // missing_scope
	messages []string // response_metadata.messages
}

func (e *apiError) Error() string { return e.code }

// fail answers a Web API call with an error word.
func fail(code string) error { return &apiError{code: code} }

// invalid answers with an error word and the reasons.
func invalid(code string, messages []string) error {
	return &apiError{code: code, messages: messages}
}

func unknown(kind, id string) error { return fmt.Errorf("%s %q: %w", kind, id, ErrUnknown) }
