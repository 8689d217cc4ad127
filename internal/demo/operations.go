package demo

import (
	"fmt"
	"regexp"
	"strings"

	"countersign/examples"
	"countersign/internal/openaidev"
)

const webConf = `# The web server.
listen = 127.0.0.1:8080
workers = 4
timeout = 30s
`

const reloadScript = `#!/bin/sh
# Stands for what makes a server read its configuration again.
set -eu
echo "reloaded: $(grep '^workers = ' "$1")"
`

// operations is the example with commands and patches: a file is changed, by somebody else too, and a command is run.
func operations() example {
	return example{
		agents: examples.Operations,
		room:   room{"operations", "The web server", operationsTries},
		ideas: `write "@countersign set the web server to 8 workers" in #operations; ` +
			`then switch to Ben and click Approve
      change web.conf by hand before you approve, have port 443 opened`,
		place: func(s *Stage) string { return "The folder that the agent works in: " + s.workdir() },
		files: []file{{"web.conf", webConf, 0o600}, {"reload.sh", reloadScript, 0o700}},
		script: func() openaidev.Script {
			return openaidev.Script{Rules: []openaidev.Rule{{Round: openaidev.AnyRound, Func: operate}}}
		},
		decisions: 5,
		steps:     func(t *story) []step { return (&operationsStory{story: t}).steps() },
	}
}

var (
	wantedWorkers = regexp.MustCompile(`(?i)(\d+)\s+workers?|workers?\D+(\d+)`)
	wantedPort    = regexp.MustCompile(`(?i)\bport\s+([1-9]\d{0,3})\b`)
	wantsLook     = regexp.MustCompile(`(?i)\b(?:how many|what|show|look|configur|list)`)
	workersLine   = regexp.MustCompile(`(?m)^workers = (\d+)$`)
)

// operate is what the scripted agent says. It follows from the conversation alone.
func operate(t *openaidev.Turn) openaidev.Reply {
	if missing := t.Missing("shell", "apply_patch", "change_firewall"); missing != "" {
		return openaidev.Reply{Text: "I was made for the example as it is, and have no tool " + missing + "."}
	}
	if m := wantedWorkers.FindStringSubmatch(t.User); m != nil {
		return changeWorkers(t, m[1]+m[2])
	}
	if m := wantedPort.FindStringSubmatch(t.User); m != nil {
		if t.Round == 0 {
			return openaidev.Reply{Calls: []openaidev.Call{
				{Name: "change_firewall", Arguments: `{"port":` + m[1] + `,"reason":"Asked for in chat."}`},
			}}
		}
		return openaidev.Reply{Text: "About port " + m[1] + " I was told: " + strings.TrimSpace(t.Output().Text)}
	}
	if wantsLook.MatchString(t.User) {
		if t.Round == 0 {
			return look
		}
		return openaidev.Reply{Text: "web.conf says:\n" + t.Output().Text}
	}
	return openaidev.Reply{Text: "I look after the web server. Try one of these:\n" +
		"• set the web server to 8 workers\n• how is the web server configured?\n• have port 443 opened\n" +
		"Changes and commands wait for somebody's approval."}
}

var look = openaidev.Reply{Calls: []openaidev.Call{{Name: "shell", Arguments: `{"argv":["cat","web.conf"]}`}}}

func changeWorkers(t *openaidev.Turn, wanted string) openaidev.Reply {
	out := t.Output()
	switch t.Round {
	case 0:
		return look
	case 1:
		now := workersLine.FindStringSubmatch(out.Text)
		if now == nil {
			return openaidev.Reply{Text: "I found no number of workers in web.conf: " + strings.TrimSpace(out.Text)}
		}
		if now[1] == wanted {
			return openaidev.Reply{Text: "web.conf has " + wanted + " workers already. I changed nothing."}
		}
		patch := fmt.Sprintf("*** Begin Patch\n*** Update File: web.conf\n@@\n-%s\n+workers = %s\n*** End Patch\n",
			now[0], wanted)
		return openaidev.Reply{
			Reasoning: "The number of workers is a line of web.conf.",
			Calls:     []openaidev.Call{{Name: "apply_patch", Arguments: `{"patch":` + quoted(patch) + `}`}},
		}
	case 2:
		if !strings.HasPrefix(out.Text, "The patch is applied.") {
			return openaidev.Reply{Text: "web.conf is as it was. I was told: " + strings.TrimSpace(out.Text)}
		}
		return openaidev.Reply{Calls: []openaidev.Call{
			{Name: "shell", Arguments: `{"script":"./reload.sh web.conf | tee -a reload.log"}`},
		}}
	}
	if !strings.Contains(out.Text, "reloaded: ") {
		return openaidev.Reply{
			Text: "web.conf is changed, but the server was not reloaded. I was told: " + strings.TrimSpace(out.Text),
		}
	}
	return openaidev.Reply{Text: "Done: web.conf has " + wanted + " workers, and the server has read it. " +
		"It printed:\n" + strings.TrimSpace(out.Text)}
}
