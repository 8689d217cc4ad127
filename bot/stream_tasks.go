package bot

import (
	"fmt"
	"strings"

	"countersign/approvals"
)

// mostTasks bounds the calls that a stream shows.
const mostTasks = 15

// tasks are the calls of a run as a stream shows them, one task card each, in the order in which they came.
type tasks struct {
	all []*task
}

type task struct {
	call  string
	name  string
	state approvals.CallState
	shown approvals.CallState
}

func newTasks() *tasks { return &tasks{} }

// hear notes how a call stands.
func (t *tasks) hear(u approvals.RunUpdate) {
	for _, one := range t.all {
		if one.call == u.Call {
			one.state = u.State
			return
		}
	}
	if len(t.all) < mostTasks {
		t.all = append(t.all, &task{call: u.Call, name: taskName(u), state: u.State})
	}
}

// taskName is the tool, and for a call of an agent within another one the agent too. A title is plain text.
func taskName(u approvals.RunUpdate) string {
	if n := len(u.Path); n > 1 {
		return label(u.Path[n-1], 60) + ": " + label(u.Tool, 80)
	}
	return label(u.Tool, 80)
}

// chunks returns task updates for what has changed, and counts the blocks that they add, up to most.
func (t *tasks) chunks(blocks *int, most int) (out []any) {
	for i, one := range t.all {
		if one.state == one.shown || one.shown == "" && *blocks >= most {
			continue
		}
		if one.shown == "" {
			*blocks++
		}
		one.shown = one.state
		out = append(out, map[string]any{
			"type": "task_update", "id": taskID(i), "title": one.name,
			"status": taskStatus[one.state], "details": wordsSteps[one.state],
		})
	}
	return out
}

// cutOff is the task update of a call that was running when whoever showed it was gone.
func cutOff(id, title string) map[string]any {
	return map[string]any{
		"type": "task_update", "id": id, "title": title, "status": taskStatus[approvals.CallFailed],
		"details": wordsCutOff,
	}
}

// cutOff returns task updates for the end of a stream in the middle: no call is shown as running for ever. What is not
// known here of a call is told elsewhere.
func (s *stream) cutOff() []any {
	return append(append(s.left, s.tasks.chunks(&s.blocks, streamBlocks)...), s.tasks.cutOff()...)
}

// cutOff returns task updates for the calls that are shown as running.
func (t *tasks) cutOff() (out []any) {
	for i, one := range t.all {
		if one.shown == approvals.CallRunning {
			out = append(out, cutOff(taskID(i), one.name))
		}
	}
	return out
}

// taskID names the task of the i-th call.
func taskID(i int) string { return fmt.Sprintf("call_%d", i+1) }

// waiting names the calls that people are asked about.
func (t *tasks) waiting() string {
	var names []string
	for _, one := range t.all {
		if one.state == approvals.CallWaiting {
			names = append(names, one.name)
		}
	}
	return strings.Join(names, ", ")
}

// taskStatus are the statuses that Slack knows; wordsSteps say what they do not.
var taskStatus = map[approvals.CallState]string{
	approvals.CallPending: "pending", approvals.CallWaiting: "pending", approvals.CallRunning: "in_progress",
	approvals.CallRan: "complete", approvals.CallFailed: "error", approvals.CallNotRun: "error",
}
