package mcptoolset_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"countersign/agent"
	"countersign/agent/mcptoolset"
)

const (
	idempotentTool = `{"name":"plain","inputSchema":{"type":"object"},"annotations":{"idempotentHint":true}}`
	readingTool    = `{"name":"plain","inputSchema":{"type":"object"},` +
		`"annotations":{"idempotentHint":true,"readOnlyHint":true}}`
)

// TestLostAnswerOfAnIdempotentTool has a server carry a call out and lose the answer. Where the operator believes that
// the tool is idempotent, the call is made once more as it was; where that brings no answer either, or the call cannot
// be made again, people have to find out. Left to the model, it would be another call.
func TestLostAnswerOfAnIdempotentTool(t *testing.T) {
	t.Parallel()
	breaksOff := func(http.ResponseWriter) { panic(http.ErrAbortHandler) }
	answers := func(status int) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { http.Error(w, "session not found", status) }
	}
	for name, tt := range map[string]struct {
		tool      string
		then      string // what the tool is once it was called; empty: the same
		untrusted bool
		loses     func(http.ResponseWriter)
		lost      int // answers
		tries     int
		want      error
	}{
		"answered":            {tool: idempotentTool, lost: 0, tries: 1},
		"broken off once":     {tool: idempotentTool, loses: breaksOff, lost: 1, tries: 2},
		"another answer once": {tool: idempotentTool, loses: answers(502), lost: 1, tries: 2},
		"the session ended":   {tool: idempotentTool, loses: answers(404), lost: 1, tries: 2},
		"broken off for good": {
			tool: idempotentTool, loses: breaksOff, lost: 9, tries: 2, want: agent.ErrOutcomeUnknown,
		},
		"another answer for good": {
			tool: idempotentTool, loses: answers(500), lost: 9, tries: 2, want: agent.ErrOutcomeUnknown,
		},
		"not believed": {
			tool: idempotentTool, untrusted: true, loses: breaksOff, lost: 1, tries: 1, want: agent.ErrOutcomeUnknown,
		},
		"not said": {tool: plainTool, loses: breaksOff, lost: 1, tries: 1, want: agent.ErrOutcomeUnknown},
		"no longer so": {
			tool: idempotentTool, then: plainTool, loses: breaksOff, lost: 1, tries: 1, want: agent.ErrOutcomeUnknown,
		},
		"no longer there": {
			tool: idempotentTool, then: " ", loses: breaksOff, lost: 1, tries: 1, want: agent.ErrOutcomeUnknown,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var got []string
			raw := &rawServer{}
			raw.list = func(string) string {
				mu.Lock()
				defer mu.Unlock()
				if len(got) > 0 && tt.then != "" {
					return `{"tools":[` + tt.then + `]}`
				}
				return `{"tools":[` + tt.tool + `]}`
			}
			raw.answer = func(w http.ResponseWriter, id, params json.RawMessage) {
				mu.Lock()
				got = append(got, string(params))
				n := len(got)
				mu.Unlock()
				if n <= tt.lost {
					tt.loses(w)
					return
				}
				raw.result(w, id, `{"content":[{"type":"text","text":"paid once"}]}`)
			}
			ts, _ := raw.start(t, func(s *mcptoolset.ServerConfig, _ *mcptoolset.Config) { s.Trusted = !tt.untrusted })
			out, err := invoke(t.Context(), toolsOf(t, ts)["plain"], `{"n":1}`)
			if !errors.Is(err, tt.want) || tt.want == nil && out.Text != "paid once" {
				t.Errorf("output %+v, %v", out, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if len(got) != tt.tries || len(slices.Compact(slices.Clone(got))) != 1 {
				t.Errorf("sent %q, want the same %d times", got, tt.tries)
			}
		})
	}
}

// TestLostAnswerOfAReadingTool stays a failure: nothing has happened that people could find out.
func TestLostAnswerOfAReadingTool(t *testing.T) {
	t.Parallel()
	raw := &rawServer{list: tools(readingTool), answer: func(http.ResponseWriter, json.RawMessage, json.RawMessage) {
		panic(http.ErrAbortHandler)
	}}
	ts, _ := raw.start(t, func(s *mcptoolset.ServerConfig, _ *mcptoolset.Config) { s.Trusted = true })
	out, err := invoke(t.Context(), toolsOf(t, ts)["plain"], `{}`)
	if err == nil || errors.Is(err, agent.ErrOutcomeUnknown) {
		t.Errorf("output %+v, %v", out, err)
	}
}

// TestLostAnswerOfACallThatFailsThen has the server refuse the second sending, as one does that is at work on the
// first, or limits how many calls it takes. That is no answer to the first, which may have been carried out: nobody is
// told that the call has failed.
func TestLostAnswerOfACallThatFailsThen(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		message string // what the second sending is answered
		lost    bool   // the first was not
		unknown bool
	}{
		"refused":                   {`"error":{"code":-32600,"message":"in progress"}`, true, true},
		"failed":                    {`"result":{"isError":true,"content":[]}`, true, true},
		"an internal error":         {`"error":{"code":-32603,"message":"broken"}`, true, false},
		"carried out":               {`"result":{"content":[{"type":"text","text":"paid once"}]}`, true, false},
		"refused, and nothing lost": {`"error":{"code":-32600,"message":"in progress"}`, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got atomic.Int32
			raw := &rawServer{list: tools(idempotentTool)}
			raw.answer = func(w http.ResponseWriter, id, _ json.RawMessage) {
				if got.Add(1) == 1 && tt.lost {
					panic(http.ErrAbortHandler)
				}
				raw.write(w, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, id, tt.message))
			}
			ts, _ := raw.start(t, func(s *mcptoolset.ServerConfig, _ *mcptoolset.Config) { s.Trusted = true })
			out, err := invoke(t.Context(), toolsOf(t, ts)["plain"], `{}`)
			if errors.Is(err, agent.ErrOutcomeUnknown) != tt.unknown || err != nil && !tt.unknown {
				t.Errorf("output %+v, %v", out, err)
			}
		})
	}
}
