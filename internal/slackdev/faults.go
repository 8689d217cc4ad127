package slackdev

import (
	"fmt"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Fault spoils the answers to Web API calls. The first fault that matches a
// call and is not used up decides it.
type Fault struct {
	Method string // "chat.postMessage", "response_url"; empty or "*" matches all
	Times  int    // how many calls; 0 means one, a negative number all
	// Match further restricts the calls; nil matches all. It runs under the
	// workspace's lock and must not call back.
	Match func(args map[string]any) bool

	Status     int           // HTTP status, e.g. 500; 429 adds Retry-After
	Error      string        // answer {"ok":false,"error":Error}
	Body       string        // the body as is, e.g. half a JSON text
	RetryAfter time.Duration // implies Status 429 when no status is given
	Delay      time.Duration // wait before going on; alone it only slows the call
	Reset      bool          // reset the TCP connection instead of answering
	SlowBody   time.Duration // send half of the spoilt answer, wait this long, then the rest

	// AfterEffect carries the call out first and spoils only the answer, as a
	// connection that breaks after Slack stored the message.
	AfterEffect bool
}

// Fail arms a fault. Several are used in the order in which they were armed.
func (w *Workspace) Fail(f Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f.Times == 0 {
		f.Times = 1
	}
	if f.RetryAfter > 0 && f.Status == 0 {
		f.Status = http.StatusTooManyRequests
	}
	w.faults = append(w.faults, &f)
}

// ClearFaults disarms every fault.
func (w *Workspace) ClearFaults() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = nil
}

// LateAnswers has what the app answers to a form take effect only once so many more calls of views.update were
// answered: an acknowledgement and a call reach Slack by different ways, in no order. Zero is at once again. An app
// that calls it less often leaves whoever submits the form waiting.
func (w *Workspace) LateAnswers(updates int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.late = updates
}

// answeredSince counts the answers to calls of a method but for the first calls of all.
func (w *Workspace) answeredSince(before int, method string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, call := range w.calls[before:] {
		if call.Method == method && call.Status != 0 {
			n++
		}
	}
	return n
}

// takeFault finds the fault for a call that was just begun and uses it once.
func (w *Workspace) takeFault(call *Call) *Fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.faults {
		named := f.Method == "" || f.Method == "*" || f.Method == call.Method
		if f.Times == 0 || !named || f.Match != nil && !f.Match(call.Args) {
			continue
		}
		if f.Times > 0 {
			f.Times--
		}
		call.Faulted = true
		return f
	}
	return nil
}

// suffer applies a fault and reports whether the call goes on as usual.
func (w *Workspace) suffer(rw http.ResponseWriter, r *http.Request, call *Call, f *Fault) (goOn bool) {
	if f.Delay > 0 {
		timer := time.NewTimer(f.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			// The client has given up, but Slack would still do the work.
		case <-w.life.Done():
		}
	}
	switch {
	case f.Reset:
		w.finish(call, 0, reply{"ok": false, "error": "connection reset"})
		reset(rw)
	case f.Status != 0 || f.Error != "" || f.Body != "":
		w.spoil(rw, call, f)
	default:
		return true
	}
	return false
}

// spoil sends the answer a fault asks for.
func (w *Workspace) spoil(rw http.ResponseWriter, call *Call, f *Fault) {
	status, body := f.Status, f.Body
	setDefault(&status, http.StatusOK)
	word := f.Error
	if word == "" && status == http.StatusTooManyRequests {
		word = "ratelimited"
	}
	if body == "" && word != "" {
		body = fmt.Sprintf(`{"ok":false,"error":%q}`, word)
	}
	if status == http.StatusTooManyRequests {
		rw.Header().Set("Retry-After", (&rateLimited{after: f.RetryAfter}).seconds())
	}
	if strings.HasPrefix(body, "{") {
		rw.Header().Set("Content-Type", "application/json; charset=utf-8")
	}
	w.finish(call, status, reply{"ok": false, "error": word})
	rw.Header().Set("Content-Length", strconv.Itoa(len(body)))
	rw.WriteHeader(status)
	half := len(body) / 2
	rw.Write([]byte(body[:half]))
	if f.SlowBody > 0 {
		http.NewResponseController(rw).Flush()
		w.life.pause(f.SlowBody)
	}
	rw.Write([]byte(body[half:]))
}

// reset cuts the connection so that the client sees "connection reset by peer".
func reset(rw http.ResponseWriter) {
	conn, _, err := http.NewResponseController(rw).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	conn.Close()
}

// rateLimited is HTTP 429.
type rateLimited struct{ after time.Duration }

func (e *rateLimited) Error() string { return "ratelimited" }

func (e *rateLimited) seconds() string {
	return strconv.Itoa(max(1, int(math.Ceil(e.after.Seconds()))))
}
