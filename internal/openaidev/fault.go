package openaidev

import (
	"net/http"
	"time"
)

// Fault spoils one request. The zero Fault spoils nothing: in a list it lets a request pass.
type Fault struct {
	// Status answers with an error in OpenAI's form instead of the scripted reply, with Code and Message.
	Status        int
	Code, Message string
	// Header is added to the answer, for instance Retry-After.
	Header http.Header
	// Body is sent as it is instead of an answer, with Status (200 when zero) and the Content-Type in Header
	// (application/json when absent): pages of a proxy, broken JSON.
	Body string
	// Delay passes before anything is sent.
	Delay time.Duration
	// Reset cuts the connection before anything is sent.
	Reset bool
	// CutAfter cuts the connection after so many bytes of the body; negative means right after the headers.
	CutAfter int
	// Hang sends nothing until Release is called or the client gives up; then the answer is sent as if nothing had
	// been.
	Hang bool
	// HangAfter holds the answer back after so many bytes of its body, until Release or until the client gives up.
	HangAfter int
	// Repeat sends every event of a stream twice. Those of chat completions are not numbered, so for them it does
	// nothing: nobody could tell an event that came twice from two equal ones.
	Repeat bool
}
