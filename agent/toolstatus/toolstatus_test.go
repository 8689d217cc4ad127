package toolstatus_test

import (
	"testing"

	"countersign/agent/toolstatus"
)

func TestStatusInWords(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]toolstatus.Status{
		"":                     {},
		"answered 204":         {HTTP: 204},
		"HTTP 301":             {HTTP: 301},
		"error -32602":         {RPCError: -32602},
		"its time was up":      {TimedOut: true},
		"exit code 0":          {Exited: true},
		"exit code 1, 1 line":  {Exited: true, ExitCode: 1, Lines: 1},
		"12 lines":             {Lines: 12},
		"1 file":               {Files: 1},
		"exit code 0, 2 lines": {Exited: true, Lines: 2},
	} {
		if got := s.String(); got != want {
			t.Errorf("%+v is %q, want %q", s, got, want)
		}
	}
}

func TestMayHaveActed(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]bool{
		0: false, 200: false, 300: false, 301: true, 302: true, 303: true, 304: false, 307: false, 308: false,
		400: false, 404: false, 408: true, 409: false, 429: false, 500: true, 502: true, 504: true,
	} {
		if got := (toolstatus.Status{HTTP: status}).MayHaveActed(); got != want {
			t.Errorf("%d: %v", status, got)
		}
	}
	for code, want := range map[int]bool{
		-32700: false, -32600: false, -32601: false, -32602: false, -32603: true, -32000: true, -1: true, 1: true,
	} {
		if got := (toolstatus.Status{RPCError: code}).MayHaveActed(); got != want {
			t.Errorf("error %d: %v", code, got)
		}
	}
}

func TestLinesOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "a": 1, "a\n": 1, "a\nb": 2, "\n": 1, "\n\n": 2} {
		if got := toolstatus.LinesOf(text); got != want {
			t.Errorf("%q has %d lines, want %d", text, got, want)
		}
	}
}
