package shelltool

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"countersign/agent"
	"countersign/agent/toolstatus"
)

// answer makes what the model reads of the commands' results.
func answer(r request, results []result, limit int) (agent.ToolOutput, error) {
	var out agent.ToolOutput
	var b strings.Builder
	native := make([]nativeResult, len(results))
	for i, res := range results {
		if len(results) > 1 {
			fmt.Fprintf(&b, "=== command %d of %d ===\n", i+1, len(results))
		}
		out.Status = res.counted(out.Status, out.Failed)
		out.Failed = out.Failed || res.failed()
		outText, outNote, errText, errNote := res.texts(limit)
		b.WriteString(res.headline(r.timeout))
		section(&b, "stdout", outText, outNote)
		section(&b, "stderr", errText, errNote)
		native[i] = nativeResult{Stdout: outText, Stderr: errText, Outcome: res.outcome()}
		if note := res.note(r.timeout); note != "" {
			native[i].Stderr = strings.TrimPrefix(lineEnd(errText)+note, "\n")
		}
	}
	out.Text = strings.TrimSuffix(b.String(), "\n")
	if !r.native {
		return out, nil
	}
	encoded, err := json.Marshal(native)
	out.Native = encoded
	return out, err
}

// nativeResult is a result in the provider's words.
type nativeResult struct {
	Stdout  string  `json:"stdout"`
	Stderr  string  `json:"stderr"`
	Outcome outcome `json:"outcome"`
}

type outcome struct {
	Type     string `json:"type"`
	ExitCode *int   `json:"exit_code,omitempty"`
}

func (r *result) failed() bool { return r.notStarted != nil || r.timeout || r.code != 0 }

// counted adds the command to the status of those before it. failed: one of them has failed, and what it ended with
// stays.
func (r *result) counted(s toolstatus.Status, failed bool) toolstatus.Status {
	s.Lines += r.stdout.count() + r.stderr.count()
	if !failed {
		s.TimedOut = r.timeout
		s.Exited = !r.timeout && r.notStarted == nil && r.signal == ""
		s.ExitCode = 0
		if s.Exited {
			s.ExitCode = r.code
		}
	}
	return s
}

// codeNotStarted is the exit code that shells use for a program that could not be run.
const codeNotStarted = 126

func (r *result) outcome() outcome {
	code := r.code
	switch {
	case r.timeout:
		return outcome{Type: "timeout"}
	case r.notStarted != nil:
		code = codeNotStarted
	}
	return outcome{Type: "exit", ExitCode: &code}
}

// texts shares the limit between the streams: what one does not need is the other's.
func (r *result) texts(limit int) (outText, outNote, errText, errNote string) {
	forOut, forErr := limit, limit
	if r.stdout.total+r.stderr.total > int64(limit) {
		forErr = limit - int(min(int64(limit/2), r.stdout.total))
		forOut = limit - int(min(int64(limit-limit/2), r.stderr.total))
	}
	outText, outNote = r.stdout.text(forOut)
	errText, errNote = r.stderr.text(forErr)
	return outText, outNote, errText, errNote
}

// headline says how it ended.
func (r *result) headline(timeout time.Duration) string {
	note := r.note(timeout)
	if note != "" {
		note += "\n"
	}
	if r.notStarted != nil || r.timeout {
		return note
	}
	return fmt.Sprintf("Exit code: %d\n", r.code) + note
}

// note says what an exit code cannot.
func (r *result) note(timeout time.Duration) string {
	var notes []string
	switch {
	case r.notStarted != nil:
		notes = append(notes, "[The command was not started: "+r.notStarted.Error()+".]")
	case r.timeout:
		notes = append(notes,
			fmt.Sprintf("[Stopped: the call's time of %v was up. What the command did until then is done.]", timeout))
	case r.signal != "":
		notes = append(notes, "[It was ended by a signal: "+r.signal+".]")
	}
	if r.held {
		notes = append(notes, "[A process that it started still runs, out of reach, and holds its output open.]")
	}
	return strings.Join(notes, "\n")
}

// section writes a stream, if there is anything to it.
func section(b *strings.Builder, name, text, note string) {
	if text == "" {
		return
	}
	if note != "" {
		note = " (" + note + ")"
	}
	fmt.Fprintf(b, "--- %s%s ---\n%s", name, note, lineEnd(text))
}

// lineEnd makes the text end with a line.
func lineEnd(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}
