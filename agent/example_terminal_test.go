package agent_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"countersign/agent"
	"countersign/agent/scripted"
)

// answerIn runs an agent and asks whoever sits at a terminal, until the run has its answer.
func answerIn(ctx context.Context, a *agent.Agent, prompt string, in io.Reader, out io.Writer) (string, error) {
	var runner agent.Runner
	lines := bufio.NewScanner(in)
	result, err := runner.Run(ctx, a, []agent.Item{agent.UserMessage(prompt)}, agent.RunOptions{})
	for err == nil && !result.State.Finished() {
		for _, question := range result.Interruptions {
			fmt.Fprintf(out, "%s %s [y/n]\n", question.Call.Tool, printable(question.Call.Arguments))
			if !lines.Scan() {
				return "", io.ErrUnexpectedEOF
			}
			if strings.TrimSpace(lines.Text()) == "y" {
				err = result.State.Approve(question, agent.ApproveOptions{})
			} else {
				err = result.State.Reject(question, agent.RejectOptions{})
			}
			if err != nil {
				return "", err
			}
		}
		result, err = runner.Resume(ctx, a, result.State, agent.RunOptions{})
	}
	if err != nil {
		return "", err
	}
	return result.FinalOutput, nil
}

// printable replaces what could do something to the terminal, or to the order of what it shows: a model wrote it.
func printable(text []byte) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, string(text))
}

// A loop of questions in a terminal.
func Example_terminal() {
	type file struct {
		Path string `json:"path"`
	}
	remove := agent.NewTool("remove", "Remove a file.", func(_ context.Context, in file) (string, error) {
		return "removed " + in.Path, nil
	})
	remove.NeedsApproval = agent.AlwaysAsk
	janitor := &agent.Agent{Name: "janitor", Tools: []agent.Tool{remove}, Model: scripted.New(
		scripted.Calls(
			scripted.Call("call_1", "remove", `{"path":"a.tmp"}`),
			scripted.Call("call_2", "remove", `{"path":"b.doc"}`),
		),
		scripted.Say("I removed a.tmp only."),
	)}

	keyboard := strings.NewReader("y\nn\n") // os.Stdin
	answer, err := answerIn(context.Background(), janitor, "Clean up.", keyboard, os.Stdout)
	if err != nil {
		panic(err)
	}
	fmt.Println(answer)
	// Output:
	// remove {"path":"a.tmp"} [y/n]
	// remove {"path":"b.doc"} [y/n]
	// I removed a.tmp only.
}
