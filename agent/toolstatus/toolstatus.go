// Package toolstatus holds what may be told of how a tool call ended, wherever its output may not be shown.
package toolstatus

import (
	"fmt"
	"strings"
)

// Status says in numbers how a call ended. It holds nothing of what the tool was told or has printed, so that it
// may be shown where the output may not. The zero Status says nothing.
type Status struct {
	HTTP     int  `json:"http,omitempty"`      // status code of an answer
	RPCError int  `json:"rpc_error,omitempty"` // code of an error that a server answered with
	TimedOut bool `json:"timed_out,omitempty"` // it was stopped because its time was up
	Exited   bool `json:"exited,omitempty"`    // it ended by itself, with ExitCode
	ExitCode int  `json:"exit_code,omitempty"` // of several commands, of the first that failed
	Lines    int  `json:"lines,omitempty"`     // of output
	Files    int  `json:"files,omitempty"`     // that were changed
}

// String returns the status in words that continue a sentence about the call, for instance "answered 200" or "exit code
// 1, 12 lines"; empty for the zero Status.
func (s Status) String() string {
	var parts []string
	switch {
	case s.HTTP >= 300:
		parts = append(parts, fmt.Sprintf("HTTP %d", s.HTTP))
	case s.HTTP > 0:
		parts = append(parts, fmt.Sprintf("answered %d", s.HTTP))
	}
	if s.RPCError != 0 {
		parts = append(parts, fmt.Sprintf("error %d", s.RPCError))
	}
	if s.TimedOut {
		parts = append(parts, "its time was up")
	}
	if s.Exited {
		parts = append(parts, fmt.Sprintf("exit code %d", s.ExitCode))
	}
	for _, n := range []struct {
		count int
		of    string
	}{{s.Lines, "line"}, {s.Files, "file"}} {
		switch {
		case n.count == 1:
			parts = append(parts, "1 "+n.of)
		case n.count > 1:
			parts = append(parts, fmt.Sprintf("%d %ss", n.count, n.of))
		}
	}
	return strings.Join(parts, ", ")
}

// TextMayHaveActed is what a model reads behind the output of a call that MayHaveActed although it failed.
const TextMayHaveActed = "\n[The server may have acted all the same. Do not count on it that nothing was done.]"

// MayHaveActed reports whether the call failed with an answer that leaves open what was done: one of a server that got
// into trouble or took too long (5xx, 408), whoever on the way there said so, or a redirect of the kinds that servers
// send when they are done (301 to 303; RFC 9110, 15.4). A status of 400 to 499 says that the request was refused, and
// so do the errors of JSON-RPC that are about the request (JSON-RPC 2.0, 5.1). Its internal error and those that
// servers make up may come from the midst of the work.
func (s Status) MayHaveActed() bool {
	switch s.RPCError {
	case 0, parseError, invalidRequest, methodNotFound, invalidParams:
		return s.HTTP >= 301 && s.HTTP <= 303 || s.HTTP == 408 || s.HTTP >= 500
	}
	return true
}

// The errors of JSON-RPC that say that a request was not taken.
const (
	parseError     = -32700
	invalidRequest = -32600
	methodNotFound = -32601
	invalidParams  = -32602
)

// InFull is String, and says of a call that MayHaveActed so too.
func (s Status) InFull() string {
	if s.MayHaveActed() {
		return s.String() + ", it may have acted all the same"
	}
	return s.String()
}

// LinesOf counts the lines of a text; the last one need not end.
func LinesOf(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}
