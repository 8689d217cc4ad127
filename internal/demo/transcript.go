package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// transcript prints the thread as the workspace has it.
func (t *story) transcript(context.Context) error {
	names := map[string]string{t.workspace.Config().App.BotUserID: "countersign"}
	for _, u := range t.workspace.Users() {
		names[u.ID] = u.RealName
	}
	fmt.Fprintln(t.cfg.Out, "\nThe thread, read back from the workspace:")
	for _, m := range t.workspace.Thread(channel, t.thread) {
		text := m.Shown()
		if text == "" {
			text = m.Text
		}
		for id, name := range names {
			text = strings.ReplaceAll(text, "<@"+id+">", "@"+name)
		}
		fmt.Fprintf(t.cfg.Out, "  %s:\n", names[m.User])
		for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
			fmt.Fprintf(t.cfg.Out, "    %s\n", line)
		}
	}
	return nil
}

// entry is what the story reads of an audit entry.
type entry struct {
	Seq     int    `json:"seq"`
	Action  string `json:"action"`
	Actor   string `json:"actor"`
	Request string `json:"request"`
}

// records prints the audit trail as the store has it, through the command that people use.
func (t *story) records(ctx context.Context) error {
	out, err := t.program().Run(ctx, "audit", "export")
	if err != nil {
		return err
	}
	fmt.Fprintln(t.cfg.Out, "\nThe audit trail, read back from the store:")
	decided := 0
	for lines := bufio.NewScanner(strings.NewReader(out)); lines.Scan(); {
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return fmt.Errorf("audit export: %w", err)
		}
		if e.Action == "decision.recorded" {
			decided++
		}
		fmt.Fprintf(t.cfg.Out, "  %3d  %-20s %-14s %s\n", e.Seq, e.Action, e.Actor, e.Request)
	}
	if decided != t.example.decisions {
		return fmt.Errorf("the trail has %d decisions, not %d", decided, t.example.decisions)
	}
	return nil
}

// verify ends the story.
func (t *story) verify(ctx context.Context) error {
	out, err := t.program().Run(ctx, "audit", "verify")
	if err != nil {
		return err
	}
	fmt.Fprintf(t.cfg.Out, "\n%s\n", strings.TrimSpace(out))
	return nil
}
