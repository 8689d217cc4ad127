package openaimodel

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/openai/openai-go/v3/responses"

	"countersign/agent"
	"countersign/agent/trace"
)

// ErrGone is wrapped by the error of a request whose conversation or previous response the server does not have any
// more. Nothing was asked; the conversation has to begin anew, or to be sent whole. It is agent.ErrConversationGone.
var ErrGone = agent.ErrConversationGone

// Error is a model call that failed for good. Its text can be shown to people: it has no keys in it and nothing of the
// conversation. Find it with [errors.AsType].
type Error struct {
	Status    int    // HTTP status; 0 when there was no answer, or a broken one
	Code      string // the provider's code, for instance "insufficient_quota"; or the reason of an incomplete answer
	Message   string // what happened, in a sentence without a full stop
	Attempts  int    // how often it was tried
	RequestID string // the provider's id of the last attempt, for its support

	server      string
	api         string
	hint        string
	param       string
	said        string // the server's own words, for adapt alone: they may repeat the conversation
	cause       error
	unreachable bool // Message has the words of the network in it
	retry       bool
	accepted    bool // the server may have taken the request in, and even completed it
	untaken     bool // it has not begun to answer
	after       time.Duration
}

// Error tells the operator: besides what happened, the server's host, the network's words and the request id.
func (e *Error) Error() string {
	text := e.text(e.server, e.Message)
	if e.RequestID != "" {
		text += " [" + e.RequestID + "]"
	}
	return text
}

// Public tells the people of the conversation. It names no hosts and addresses of the operator's network.
func (e *Error) Public() string {
	server, message := e.server, e.Message
	if server != openAI {
		server = "the model server"
	}
	if e.unreachable {
		message = "cannot be reached"
	}
	return e.text(server, message)
}

func (e *Error) text(server, message string) string {
	var b strings.Builder
	b.WriteString(server)
	if e.Status != 0 {
		fmt.Fprintf(&b, " answered %d:", e.Status)
	}
	b.WriteString(" " + message)
	if e.hint != "" {
		b.WriteString("; " + e.hint)
	}
	if e.Attempts > 1 {
		fmt.Fprintf(&b, " (tried %d times)", e.Attempts)
	}
	return b.String()
}

// Unwrap returns what lies beneath, for instance [agent.ErrModelBehavior]. Its text is not fit to be shown.
func (e *Error) Unwrap() error { return e.cause }

// Is reports whether target is agent.ErrNotTaken and the server has not begun to answer.
func (e *Error) Is(target error) bool { return target == agent.ErrNotTaken && e.untaken }

// ErrorClass is what traces call the error: the HTTP status, or unreachable.
func (e *Error) ErrorClass() string {
	switch {
	case e.Status != 0:
		return strconv.Itoa(e.Status)
	case e.unreachable:
		return "unreachable"
	}
	return trace.ClassOther
}

const openAI = "OpenAI"

// serverName is what people know the server by.
func serverName(base string) string {
	u, err := url.Parse(base)
	if err != nil || u.Hostname() == "api.openai.com" {
		return openAI
	}
	return "the model server " + u.Host
}

// failure says what an attempt failed of.
func (m *Model) failure(req *agent.ModelRequest, res *http.Response, err error) *Error {
	e := &Error{server: m.server, api: m.api.name(), cause: err}
	clean := newRedactor(m.cfg.APIKey, req)
	if res != nil {
		e.RequestID = identifier(res.Header.Get("X-Request-Id"))
	}
	if cut, ok := errors.AsType[*ended](err); ok {
		e.ended(cut, clean)
		e.gone(req, cut.message)
		return e
	}
	if res != nil && res.StatusCode >= 400 {
		e.gone(req, e.refused(res, clean))
		return e
	}
	e.broken(res, err, clean)
	return e
}

// gone finds out whether the server has forgotten what the request goes on from. message is the server's, unredacted.
func (e *Error) gone(req *agent.ModelRequest, message string) {
	id, what := req.PreviousResponseID, "response"
	if req.Conversation != "" {
		id, what = req.Conversation, "conversation"
	}
	if id == "" {
		return
	}
	named := strings.Contains(message, id) && strings.Contains(strings.ToLower(message), "not found")
	if e.Code != "previous_response_not_found" && e.Code != "conversation_not_found" &&
		!(named && (e.Status == 400 || e.Status == 404)) {
		return
	}
	e.retry, e.hint = false, "it does not have the "+what+" any more that this goes on from; begin a new conversation"
	e.cause = fmt.Errorf("%w: %w", ErrGone, e.cause)
}

// refused fills in an answer with an error status. It returns the server's message as it came.
func (e *Error) refused(res *http.Response, clean *redactor) string {
	e.Status = res.StatusCode
	data, _ := io.ReadAll(res.Body)
	var body struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  string          `json:"detail"`
	}
	_ = json.Unmarshal(data, &body)
	code, message, ok := readError(body.Error)
	if !ok {
		message = cmp.Or(body.Message+body.Detail, listed(data))
	}
	e.said = message
	var param struct {
		Param string `json:"param"`
	}
	_ = json.Unmarshal(body.Error, &param)
	e.Code, e.param = identifier(code), param.Param
	if e.Message = clean.text(message); e.Message == "" {
		e.Message = strings.ToLower(http.StatusText(e.Status))
	}
	e.hint = hint(e.Status, e.Code, clean.key == "")
	if e.Code == "array_above_max_length" && e.param == "tools" {
		e.hint = "give the agent fewer tools; allowed_tools chooses among those of an MCP server"
	}
	if (e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed) && e.server != openAI &&
		e.api == (*responsesAPI)(nil).name() {
		e.hint += "; a server without the Responses API needs api: " + string(ChatCompletions)
	}
	e.retry = retryable(res, e.Code)
	e.accepted = e.Status == http.StatusBadGateway || e.Status == http.StatusGatewayTimeout
	switch e.Status { // others may come when the answer had begun, as when it has become too long for the model
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		e.untaken = true
	}
	e.after = retryAfter(res.Header)
	if e.retry && e.after > maxWait {
		e.hint = strings.TrimPrefix(e.hint+"; it asks to wait "+e.after.Round(time.Second).String(), "; ")
	}
	return message
}

// listed is the message of servers that answer with a list of what is wrong and where, as those written with FastAPI
// do. What was sent is in the list too, and is left out.
func listed(data []byte) string {
	var body struct {
		Detail []struct {
			Location []any  `json:"loc"`
			Message  string `json:"msg"`
		} `json:"detail"`
	}
	if json.Unmarshal(data, &body) != nil {
		return ""
	}
	var all []string
	for _, d := range body.Detail {
		var at []string
		for _, part := range d.Location {
			at = append(at, fmt.Sprint(part))
		}
		all = append(all, strings.Join(at, ".")+": "+d.Message)
	}
	return strings.Join(all, "; ")
}

// retryable reports whether a refusal may pass by itself.
func retryable(res *http.Response, code string) bool {
	switch res.Header.Get("X-Should-Retry") {
	case "true":
		return true
	case "false":
		return false
	}
	switch code {
	case "insufficient_quota", "billing_hard_limit_reached", "billing_not_active":
		return false
	}
	return passingStatus(res.StatusCode)
}

func passingStatus(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return true
	}
	return status >= 500
}

func hint(status int, code string, noKey bool) string {
	switch {
	case code == "insufficient_quota", code == "billing_hard_limit_reached", code == "billing_not_active":
		return "check the plan and the billing of the account"
	case code == "context_length_exceeded":
		return "the conversation is too long for the model"
	case code == "model_not_found":
		return "check the model's name in the agents file"
	case status == http.StatusUnauthorized && noKey:
		return "set OPENAI_API_KEY"
	case status == http.StatusUnauthorized:
		return "check OPENAI_API_KEY"
	case status == http.StatusForbidden:
		return "check what the key in OPENAI_API_KEY may use"
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		return "check OPENAI_BASE_URL and the model's name"
	}
	return ""
}

// ended fills in a response that the provider ended early.
func (e *Error) ended(cut *ended, clean *redactor) {
	e.Code = identifier(cut.code)
	switch {
	case cut.status == statusIncomplete && cut.code == "max_output_tokens":
		e.Message = "stopped the answer at the token limit"
		if cut.tokens > 0 {
			e.Message += fmt.Sprintf(", after %d tokens", cut.tokens)
		}
		e.hint = "raise max_output_tokens"
	case cut.status == statusIncomplete && cut.code == "content_filter":
		e.Message = "stopped the answer in its content filter"
	case cut.status == statusIncomplete:
		e.Message = "did not finish the answer"
	case cut.status == statusFailed:
		e.Message = "could not finish the answer"
		if text := clean.text(cut.message); text != "" {
			e.Message += ": " + text
		}
		e.retry = passing(cut.code)
		e.hint = hint(0, e.Code, false)
	default:
		e.Message = "gave an unfinished answer"
	}
	if e.Code != "" && !strings.Contains(e.Message, e.Code) && cut.status == statusFailed {
		e.Message += " (" + e.Code + ")"
	}
}

// passing reports whether the code of a failed answer stands for something that may pass. Gateways put the status that
// they would have answered with there.
func passing(code string) bool {
	switch responses.ResponseErrorCode(code) {
	case responses.ResponseErrorCodeServerError, responses.ResponseErrorCodeRateLimitExceeded, "overloaded", "":
		return true
	}
	status, err := strconv.Atoi(code)
	return err == nil && passingStatus(status)
}

// broken fills in an attempt without an answer, or with one that is no answer.
func (e *Error) broken(res *http.Response, err error, clean *redactor) {
	switch {
	case errors.Is(err, errSilent):
		e.Message, e.retry, e.accepted = "gave "+err.Error(), true, true
	case errors.Is(err, errTooLarge):
		e.Message = "gave an answer that is too large"
	case errors.Is(err, errNotJSON):
		e.Message, e.hint = "gave an answer that is not JSON", "check OPENAI_BASE_URL"
		if t := mediaType(res); t != "" && t != "application/json" {
			e.Message += " but " + identifier(t)
		}
	case errors.Is(err, agent.ErrModelBehavior):
		e.Message = "gave an answer that is not one of the " + e.api
	case errors.Is(err, errCut), res != nil:
		e.Message, e.retry, e.accepted = "gave an answer that was cut short or garbled", true, true
	case errors.Is(err, agent.ErrConfig):
		e.Message, e.untaken = "was not asked: "+err.Error(), true
	default:
		e.Message, e.retry = "cannot be reached: "+clean.text(network(err)), retryableNetwork(err)
		e.unreachable, e.hint = true, "check OPENAI_BASE_URL and the network"
		dial, ok := errors.AsType[*net.OpError](err)
		e.accepted = !ok || dial.Op != "dial" // a connection that came about may have carried the request
		e.untaken = !e.accepted
	}
}

// network is the text of a network error without the URL that net/http puts in front.
func network(err error) string {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return err.Error()
}

// retryableNetwork reports whether a connection may come about later. A certificate that does not fit will not change
// in two minutes, nor will a server that redirects to another one.
func retryableNetwork(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return false
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return false
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return false
	}
	return !strings.HasPrefix(network(err), "requestconfig:")
}
