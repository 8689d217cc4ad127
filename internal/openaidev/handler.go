package openaidev

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxBody bounds a request, as OpenAI does.
const maxBody = 32 << 20

// Handler answers requests to /v1/responses, /v1/chat/completions, /v1/conversations and /v1/models. It is safe for
// concurrent use.
type Handler struct {
	cfg    Config
	rules  []rule
	types  []string
	memory *memory

	mu       sync.Mutex
	requests []Request
	count    int
	faults   []Fault
	release  chan struct{}
}

// NewHandler compiles the script. Its error names the rule that is wrong.
func NewHandler(cfg Config) (*Handler, error) {
	rules, err := compile(cfg.Script.Rules)
	if err != nil {
		return nil, err
	}
	h := &Handler{
		cfg: cfg, rules: rules, faults: slices.Clone(cfg.Script.Faults), release: make(chan struct{}),
		memory: newMemory(),
	}
	h.types = slices.Clone(cfg.Script.ItemTypes)
	for _, r := range cfg.Script.Rules {
		for _, raw := range r.Reply.Raw {
			var it item
			if json.Unmarshal(raw, &it) == nil {
				h.types = append(h.types, it.Type)
			}
		}
	}
	return h, nil
}

// Requests returns the requests so far, in order of arrival. With Config.Forget there are none.
func (h *Handler) Requests() []Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.requests)
}

// Inject spoils the next requests that no fault waits for yet, one each.
func (h *Handler) Inject(faults ...Fault) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults = append(h.faults, faults...)
}

// Release lets every request go on that hangs now. Later ones hang until the next Release.
func (h *Handler) Release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.release)
	h.release = make(chan struct{})
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := h.authorize(r); err != nil {
		writeError(w, err)
		return
	}
	response, ofResponse := strings.CutPrefix(r.URL.Path, "/v1/responses/")
	conversation, ofConversation := strings.CutPrefix(r.URL.Path, "/v1/conversations/")
	switch {
	case r.Method == http.MethodPost && r.URL.Path == "/v1/responses":
		h.serveAnswer(w, r, func(data []byte) (*body, *apiError) { return h.memory.parse(data, h.types) })
	case r.Method == http.MethodPost && r.URL.Path == "/v1/chat/completions":
		h.serveAnswer(w, r, parseChat)
	case r.Method == http.MethodPost && r.URL.Path == "/v1/conversations":
		data, _ := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		h.memory.begin(w, data)
	case r.Method == http.MethodDelete && ofResponse:
		h.memory.forget(w, "response", response)
	case r.Method == http.MethodDelete && ofConversation:
		h.memory.forget(w, "conversation", conversation)
	case r.Method == http.MethodGet && r.URL.Path == "/v1/models":
		writeJSON(w, http.StatusOK, []byte(`{"object":"list","data":[]}`))
	default:
		writeError(w, &apiError{
			status: 404, Type: "invalid_request_error", Message: "Invalid URL (" + r.Method + " " + r.URL.Path + ")",
		})
	}
}

func (h *Handler) authorize(r *http.Request) *apiError {
	key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || key == "" {
		return &apiError{status: 401, Type: "invalid_request_error", Message: "You didn't provide an API key."}
	}
	if h.cfg.APIKey != "" && key != h.cfg.APIKey {
		return &apiError{
			status: 401, Type: "invalid_request_error", Code: "invalid_api_key",
			Message: "Incorrect API key provided: " + key[:min(4, len(key))] + "****.",
		}
	}
	return nil
}

func (h *Handler) serveAnswer(w http.ResponseWriter, r *http.Request, parse func([]byte) (*body, *apiError)) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		writeError(w, badRequest("", "", "We could not read the body of your request."))
		return
	}
	b, apiErr := parse(data)
	fault := h.record(r, data, b)
	h.wait(r, fault)
	switch {
	case fault.Reset:
		abort(w)
	case fault.Body != "":
		h.send(w, r, fault, faultHeader(fault), max(fault.Status, 200), []byte(fault.Body))
	case fault.Status != 0:
		h.sendError(w, r, fault, &apiError{
			status: fault.Status, Type: "server_error", Code: fault.Code, Message: fault.Message,
		})
	case apiErr != nil:
		h.sendError(w, r, fault, apiErr)
	default:
		h.answer(w, r, fault, b)
	}
}

// record counts the request and takes the fault that waits for it.
func (h *Handler) record(r *http.Request, data []byte, b *body) Fault {
	h.mu.Lock()
	h.count++
	req := Request{N: h.count, Path: r.URL.Path, Header: r.Header.Clone(), Body: data, Stream: b != nil && b.Stream}
	if !h.cfg.Forget {
		h.requests = append(h.requests, req)
	}
	var fault Fault
	if len(h.faults) > 0 {
		fault, h.faults = h.faults[0], h.faults[1:]
	}
	h.mu.Unlock()
	if h.cfg.OnRequest != nil {
		h.cfg.OnRequest(req)
	}
	return fault
}

// wait passes the time that the fault asks for.
func (h *Handler) wait(r *http.Request, fault Fault) {
	if fault.Delay > 0 {
		pause(r, fault.Delay)
	}
	if fault.Hang {
		h.hang(r)
	}
}

func pause(r *http.Request, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
}

func (h *Handler) hang(r *http.Request) {
	h.mu.Lock()
	release := h.release
	h.mu.Unlock()
	select {
	case <-release:
	case <-r.Context().Done():
	}
}

func (h *Handler) answer(w http.ResponseWriter, r *http.Request, fault Fault, b *body) {
	send := h.respond
	if b.chat != nil {
		send = h.complete
	}
	if err := send(w, r, fault, b, h.reply(newTurn(b, h.cfg.Script.MCP))); err != nil {
		h.sendError(w, r, fault, &apiError{
			status: 500, Type: "server_error", Message: "The script failed: " + err.Error(),
		})
	}
}

// respond answers with a response. After an error nothing was sent.
func (h *Handler) respond(w http.ResponseWriter, r *http.Request, fault Fault, b *body, reply Reply) error {
	res, err := newResponse(b, reply, h.cfg.Script.MCP)
	if err != nil {
		return err
	}
	if res.Status == "completed" {
		if err := h.memory.remember(b, res); err != nil {
			return err
		}
	}
	if b.Stream {
		var frames [][]byte
		for _, e := range events(res) {
			frame, err := e.frame()
			if err != nil {
				return err
			}
			if fault.Repeat {
				frame = append(frame, frame...)
			}
			frames = append(frames, frame)
		}
		h.stream(w, r, fault, requestID(res.ID), frames)
		return nil
	}
	data, err := json.Marshal(res)
	if err == nil {
		h.send(w, r, fault, requestID(res.ID), http.StatusOK, data)
	}
	return err
}

func (h *Handler) reply(t *Turn) Reply {
	for i := range h.rules {
		if h.rules[i].fits(t) {
			return h.rules[i].answer(t)
		}
	}
	return Reply{Text: "I have no answer to that."}
}

func requestID(id string) http.Header {
	return http.Header{"X-Request-Id": {"req_" + strings.TrimPrefix(strings.TrimPrefix(id, "resp_"), "chatcmpl-")[:32]}}
}

// stream sends the frames of an event stream, one write each.
func (h *Handler) stream(w http.ResponseWriter, r *http.Request, fault Fault, header http.Header, frames [][]byte) {
	header.Set("Content-Type", "text/event-stream; charset=utf-8")
	sink := h.newSink(w, r, fault, header, http.StatusOK)
	for i, frame := range frames {
		if i > 0 && h.cfg.Pace > 0 {
			pause(r, h.cfg.Pace)
		}
		if !sink.write(frame) {
			return
		}
		sink.flush()
	}
}

func (h *Handler) send(
	w http.ResponseWriter, r *http.Request, fault Fault, header http.Header, status int, data []byte,
) {
	h.newSink(w, r, fault, header, status).write(data)
}

func (h *Handler) sendError(w http.ResponseWriter, r *http.Request, fault Fault, e *apiError) {
	h.send(w, r, fault, faultHeader(fault), e.status, e.encode())
}

// faultHeader is the header of an answer that is not the script's.
func faultHeader(fault Fault) http.Header {
	header := fault.Header.Clone()
	if header == nil {
		header = make(http.Header)
	}
	if header.Get("X-Request-Id") == "" {
		header.Set("X-Request-Id", "req_0123456789abcdef0123456789abcdef")
	}
	return header
}

// encode writes the error as OpenAI does: empty parameter and code are null.
func (e *apiError) encode() []byte {
	data, _ := json.MarshalIndent(map[string]any{"error": map[string]any{
		"message": e.Message, "type": e.Type, "param": null(e.Param), "code": null(e.Code),
	}}, "", "  ")
	return data
}

// null is a text, or nothing.
func null(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func writeError(w http.ResponseWriter, e *apiError) { writeJSON(w, e.status, e.encode()) }

func writeJSON(w http.ResponseWriter, status int, data []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data)
}
