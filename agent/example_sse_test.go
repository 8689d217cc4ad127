package agent_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"countersign/agent"
	"countersign/agent/scripted"
)

// chatServer shows runs to a browser as server-sent events. GET /runs?prompt=… begins one; where it needs a decision,
// the events end with the question, and POST /runs/{run} with the decision returns the events that follow. Nothing but
// a saved state is kept while somebody thinks. Who may see and decide what is left to the handlers around it.
type chatServer struct {
	runner agent.Runner
	agent  *agent.Agent

	mu     sync.Mutex
	paused map[string][]byte // by run
}

// decisionBody is what a browser posts.
type decisionBody struct {
	Question string `json:"question"`
	Approve  bool   `json:"approve"`
}

func (s *chatServer) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /runs", func(w http.ResponseWriter, r *http.Request) {
		input := []agent.Item{agent.UserMessage(r.FormValue("prompt"))}
		ctx := context.WithoutCancel(r.Context()) // a browser that goes away does not end the run
		s.play(w, s.runner.Stream(ctx, s.agent, input, agent.RunOptions{}))
	})
	mux.HandleFunc("POST /runs/{run}", func(w http.ResponseWriter, r *http.Request) {
		var body decisionBody
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&body); err != nil {
			http.Error(w, "not a decision", http.StatusBadRequest)
			return
		}
		state, err := s.decided(r.PathValue("run"), body)
		if err != nil {
			http.Error(w, "no such question", http.StatusConflict)
			return
		}
		ctx := context.WithoutCancel(r.Context())
		s.play(w, s.runner.StreamResume(ctx, s.agent, state, agent.RunOptions{}))
	})
	return mux
}

// decided takes the run out of those that wait, with the decision, so that two clicks do not resume it twice.
func (s *chatServer) decided(run string, d decisionBody) (*agent.RunState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state, err := agent.DecodeRunState(s.paused[run], s.agent)
	if err != nil {
		return nil, err
	}
	err = agent.ErrUnknownInterruption
	for _, question := range state.Interruptions() {
		switch {
		case question.ID != d.Question:
		case d.Approve:
			err = state.Approve(question, agent.ApproveOptions{})
		default:
			err = state.Reject(question, agent.RejectOptions{})
		}
	}
	if err == nil {
		delete(s.paused, run)
	}
	return state, err
}

// play sends the events of a run, and in the end its questions or its answer.
func (s *chatServer) play(w http.ResponseWriter, stream *agent.Stream) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	send := func(event string, data any) {
		text, _ := json.Marshal(data)                          // strings and maps of strings
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, text) // one line: JSON holds no line breaks
		_ = http.NewResponseController(w).Flush()
	}
	for event := range stream.Events() {
		switch e := event.(type) {
		case agent.ModelText:
			send("text", e.Text)
		case agent.ToolStarted:
			send("started", e.Call.Tool)
		case agent.ToolEnded:
			send("ended", e.Call.Tool)
		}
	}
	result, err := stream.Result()
	if err != nil {
		send("failed", "The run has failed.") // the error is for the log
		return
	}
	if result.State.Finished() {
		send("answer", result.FinalOutput)
		return
	}
	saved, err := result.State.MarshalJSON()
	if err != nil {
		send("failed", "The run has failed.")
		return
	}
	s.mu.Lock()
	s.paused[result.State.RunID()] = saved
	s.mu.Unlock()
	for _, q := range result.Interruptions {
		send("question", map[string]string{
			"run": result.State.RunID(), "question": q.ID, "tool": q.Call.Tool, "arguments": string(q.Call.Arguments),
		})
	}
}

// A server sends events to a browser, and resumes the run when a decision is posted.
func Example_sse() {
	s := &chatServer{paused: make(map[string][]byte), agent: payer(
		scripted.Calls(scripted.Call("call_1", "pay", `{"amount":5,"to":"Ada"}`)),
		scripted.Say("Ada has her money."),
	)}
	server := httptest.NewServer(s.handler())
	defer server.Close()

	// The browser.
	resp, err := http.Get(server.URL + "/runs?prompt=Pay+Ada.")
	if err != nil {
		panic(err)
	}
	var question struct{ Run, Question, Tool, Arguments string }
	if err := json.Unmarshal([]byte(showEvents(resp.Body)), &question); err != nil {
		panic(err)
	}
	fmt.Println("somebody approves", question.Tool, question.Arguments)
	decision, err := json.Marshal(decisionBody{Question: question.Question, Approve: true})
	if err != nil {
		panic(err)
	}
	resp, err = http.Post(server.URL+"/runs/"+question.Run, "application/json", strings.NewReader(string(decision)))
	if err != nil {
		panic(err)
	}
	fmt.Println(showEvents(resp.Body))
	// Output:
	// event: question
	// somebody approves pay {"amount":5,"to":"Ada"}
	// event: started
	// event: ended
	// event: text
	// event: text
	// event: text
	// event: text
	// event: answer
	// "Ada has her money."
}

// showEvents prints the names of the events and returns the data of the last one.
func showEvents(body io.ReadCloser) (data string) {
	defer body.Close()
	for lines := bufio.NewScanner(body); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			data = text
		} else if lines.Text() != "" {
			fmt.Println(lines.Text())
		}
	}
	return data
}
