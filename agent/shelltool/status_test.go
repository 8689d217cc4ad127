//go:build unix

package shelltool_test

import (
	"encoding/json"
	"testing"
	"time"

	"countersign/agent/shelltool"
	"countersign/agent/toolstatus"
)

// TestStatus: the output says with which code a command ended, of several the first that failed, and how many lines
// came, also of those that the output leaves out.
func TestStatus(t *testing.T) {
	t.Parallel()
	plain := newTool(t, shelltool.Config{MaxOutput: 256})
	for text, want := range map[string]toolstatus.Status{
		`echo one; printf two`:         {Exited: true, Lines: 2},
		`exit 3`:                       {Exited: true, ExitCode: 3},
		`echo a; echo b >&2; exit 1`:   {Exited: true, ExitCode: 1, Lines: 2},
		`seq 1 500`:                    {Exited: true, Lines: 500},
		`printf 'no end'; printf '\n'`: {Exited: true, Lines: 1},
		`kill -9 $$`:                   {},
	} {
		if got := invoke(t, plain, script(text)).Status; got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
	native := newTool(t, shelltool.Config{Native: true})
	for commands, want := range map[string]toolstatus.Status{
		`["echo a","exit 4","exit 5","echo b"]`: {Exited: true, ExitCode: 4, Lines: 2},
		`["exit 2","kill -9 $$"]`:               {Exited: true, ExitCode: 2},
		`["kill -9 $$","exit 2"]`:               {},
	} {
		c := call(map[string]json.RawMessage{"commands": json.RawMessage(commands)})
		if got := invoke(t, native, c).Status; got != want {
			t.Errorf("%s: %+v, want %+v", commands, got, want)
		}
	}
	slow := newTool(t, shelltool.Config{Timeout: 50 * time.Millisecond})
	if got := invoke(t, slow, script("sleep 60")).Status; got != (toolstatus.Status{TimedOut: true}) {
		t.Errorf("stopped: %+v", got)
	}
}
