package app_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"countersign/internal/slackdev"
)

// TestBadStart ends with the name of what is wrong and the fix, and shows no secret.
func TestBadStart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		spoil func(w *world) []string // returns further variables
		code  int
		want  []string
	}{
		{"token missing", func(*world) []string { return []string{"SLACK_BOT_TOKEN="} }, 2,
			[]string{"SLACK_BOT_TOKEN is not set"}},
		{"token refused", func(w *world) []string { w.slack.RevokeToken(); return nil }, 2,
			[]string{"SLACK_BOT_TOKEN", "token_revoked"}},
		{"other token", func(*world) []string { return []string{"SLACK_BOT_TOKEN=" + canaryBot + "x"} }, 2,
			[]string{"SLACK_BOT_TOKEN", "invalid_auth"}},
		{"app token refused", func(*world) []string { return []string{"SLACK_APP_TOKEN=" + canaryApp + "x"} }, 2,
			[]string{"SLACK_APP_TOKEN", "invalid_auth"}},
		{"access suspended", func(w *world) []string {
			w.slack.Fail(slackdev.Fault{Method: "auth.test", Error: "ekm_access_denied", Times: -1})
			return nil
		}, 2, []string{"SLACK_BOT_TOKEN: Slack refuses the token: ekm_access_denied; ",
			"administrators of the workspace have suspended the access"}},
		{"no access to the workspace", func(w *world) []string {
			w.slack.Fail(slackdev.Fault{Method: "auth.test", Error: "team_access_not_granted", Times: -1})
			return nil
		}, 2, []string{"SLACK_BOT_TOKEN: Slack refuses the token: team_access_not_granted; ",
			"have the app added to the workspace"}},
		{"Slack away", func(*world) []string { return []string{"SLACK_API_URL=http://127.0.0.1:1/api/"} }, 1,
			[]string{"SLACK_API_URL"}},
		{"no agents file", func(*world) []string { return []string{"COUNTERSIGN_AGENTS=absent.yaml"} }, 2,
			[]string{"absent.yaml", "COUNTERSIGN_AGENTS"}},
		{"bad agents file", func(w *world) []string {
			w.write("countersign.yaml", "version: 1\nagents:\n  ops: { instuctions: x, model: y }\n")
			return nil
		}, 2, []string{`countersign.yaml:3:10: unknown key "instuctions"`, `did you mean "instructions"?`}},
		{"variable missing", func(*world) []string { return []string{"EFFECTS_TOKEN="} }, 2,
			[]string{"countersign.yaml:18:35", "EFFECTS_TOKEN is not set"}},
		{"no policy", func(w *world) []string { w.write("countersign.yaml", fmt.Sprintf(agentsYAML, "")); return nil },
			2, []string{"countersign.yaml:8:9", "default_policy"}},
		{"several workspaces in the clear", func(*world) []string {
			return []string{"SLACK_BOT_TOKEN=", "SLACK_CLIENT_ID=1.2", "SLACK_CLIENT_SECRET=" + canaryToken,
				"SLACK_SIGNING_SECRET=x", "COUNTERSIGN_SLACK_MODE=http", "COUNTERSIGN_PUBLIC_URL=https://x.test"}
		}, 2, []string{"COUNTERSIGN_ENCRYPTION_KEYS is not set", "several workspaces need it"}},
		{"no key", func(*world) []string { return []string{"COUNTERSIGN_ENCRYPTION_KEYS=a:" + canaryToken} }, 2,
			[]string{"COUNTERSIGN_ENCRYPTION_KEYS", "entry 1 (a)", "openssl rand -base64 32"}},
		{"address in use", func(w *world) []string {
			return []string{"COUNTERSIGN_LISTEN=" + strings.TrimPrefix(w.effects.server.URL, "http://")}
		}, 1, []string{"COUNTERSIGN_LISTEN", "in use; stop what listens there"}},
		{"no such port", func(*world) []string { return []string{"COUNTERSIGN_LISTEN=127.0.0.1:99999"} }, 2,
			[]string{"COUNTERSIGN_LISTEN", "99999"}},
		{"no such port for the metrics", func(*world) []string {
			return []string{"COUNTERSIGN_METRICS_LISTEN=127.0.0.1:metrix"}
		}, 2, []string{"COUNTERSIGN_METRICS_LISTEN", "metrix"}},
		{"no store folder", func(*world) []string { return []string{"COUNTERSIGN_STORE=bolt:absent/x.db"} }, 2,
			[]string{"COUNTERSIGN_STORE: ", "absent/x.db", "the folder absent is not there; create it first"}},
		{"a folder for a store", func(w *world) []string {
			if err := os.Mkdir(filepath.Join(w.dir, "data"), 0o700); err != nil {
				w.t.Fatal(err)
			}
			return []string{"COUNTERSIGN_STORE=bolt:data"}
		}, 2, []string{"COUNTERSIGN_STORE: ", "data: not a store file: it is a folder", "such as data/countersign.db"}},
		{"a file for the store's folder", func(*world) []string {
			return []string{"COUNTERSIGN_STORE=bolt:countersign.yaml/x.db"}
		}, 2, []string{"COUNTERSIGN_STORE: ", "countersign.yaml is no folder"}},
		{"no store", func(w *world) []string {
			w.write("countersign.db", strings.Repeat("not a store ", 1000))
			return []string{"COUNTERSIGN_STORE=bolt:countersign.db"}
		}, 2, []string{"COUNTERSIGN_STORE: ", "countersign.db: not a store file"}},
		{"several at once", func(w *world) []string {
			return []string{"SLACK_BOT_TOKEN=", "SLACK_APP_TOKEN=xoxb-" + canaryToken, "COUNTERSIGN_LOG_LEVEL=loud",
				"COUNTERSIGN_STORE=bolt:absent/x.db", "COUNTERSIGN_LISTEN=8080", "EFFECTS_TOKEN=",
				"COUNTERSIGN_AUDIT_KEY=absent.pem"}
		}, 2, []string{"SLACK_BOT_TOKEN is not set; ", "SLACK_APP_TOKEN holds something else",
			"COUNTERSIGN_LOG_LEVEL: ", "COUNTERSIGN_LISTEN: ",
			"COUNTERSIGN_STORE: open store absent/x.db", "EFFECTS_TOKEN is not set",
			"COUNTERSIGN_AUDIT_CHECKPOINTS is not set", "COUNTERSIGN_AUDIT_KEY: open absent.pem"}},
		{"both tokens refused, and keys for a plain store", func(w *world) []string {
			if err := w.openFile().Close(); err != nil {
				w.t.Fatal(err)
			}
			return []string{"SLACK_BOT_TOKEN=" + canaryBot + "x", "SLACK_APP_TOKEN=" + canaryApp + "x",
				"COUNTERSIGN_STORE=bolt:countersign.db", "COUNTERSIGN_ENCRYPTION_KEYS=a:" + keyA}
		}, 2, []string{"SLACK_BOT_TOKEN: Slack refuses the token: invalid_auth; copy the token again",
			"SLACK_APP_TOKEN: Slack refuses the token: invalid_auth; copy the token again",
			"COUNTERSIGN_ENCRYPTION_KEYS: "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, settings{})
			more := c.spoil(w)
			p := w.spawn(binary(t), w.env(more...), "run")
			if code := p.wait(); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			for _, want := range c.want {
				if !strings.Contains(p.out.String(), want) {
					t.Errorf("want %q in:\n%s", want, p.out.String())
				}
			}
		})
	}
}

// TestDamagedStore refuses a truncated file with words, and no stack.
func TestDamagedStore(t *testing.T) {
	fileOnly(t, "PostgreSQL looks after its own files")
	t.Parallel()
	w := newWorld(t, settings{})
	bot := w.start()
	w.answer(w.mention("pay 1"), "R-1")
	bot.stop()
	path := filepath.Join(w.dir, "countersign.db")
	if err := os.Truncate(path, 3*4096); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"run"}, {"audit", "verify"}, {"approvals", "list"}} {
		out, complaint, code := w.run(args...)
		if code != 1 || !strings.Contains(complaint, "countersign.db") || !strings.Contains(complaint, "damaged") {
			t.Errorf("%v: %d\n%s%s", args, code, out, complaint)
		}
	}
}

// TestSecondProcess is refused with the path; the first one does not notice.
func TestSecondProcess(t *testing.T) {
	fileOnly(t, "in a database it is one more replica")
	t.Parallel()
	w := newWorld(t, settings{})
	w.start()
	out, complaint, code := w.run("run")
	if code != 1 || !strings.Contains(complaint, "countersign.db") ||
		!strings.Contains(complaint, "in use by another process") {
		t.Errorf("%d\n%s%s", code, out, complaint)
	}
	w.answer(w.mention("pay 1"), "R-1")
}

// TestReload takes a new file at SIGHUP, and keeps the old one when the new one is wrong.
func TestReload(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	bot := w.start()
	good, err := os.ReadFile(filepath.Join(w.dir, "countersign.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	w.write("countersign.yaml", "version: 1\nfoo: bar\n")
	bot.signal(syscall.SIGHUP)
	bot.says("stays in force")
	bot.says(`countersign.yaml:2:1: unknown key`)
	w.card(w.mention("pay 2"), 1)

	w.write("countersign.yaml", strings.Replace(string(good), "args.amount > 1", "args.amount > 1000", 1))
	bot.signal(syscall.SIGHUP)
	bot.says("agents file reloaded")
	w.answer(w.mention("pay 2"), "R-1")
}

// TestReloadChangesWhoMayAskWhom takes who may start runs, how many, and which agent a channel has from the new file.
func TestReloadChangesWhoMayAskWhom(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	bot := w.start()
	w.answer(w.mention("pay 1"), "R-1")
	w.write("countersign.yaml", fmt.Sprintf(strings.Replace(agentsYAML, "agents:\n", `requesters: { users: [U0BEN] }
limits: { runs_per_person: 1 }
channels: { C0GENERAL: bills }
agents:
  bills:
    instructions: You answer for bills.
    model: gpt-5.2
    tools: [{ type: function, name: current_time, needs_approval: true }]
`, 1), anybody))
	bot.signal(syscall.SIGHUP)
	bot.says("agents file reloaded")
	w.mention("pay 1")
	refused := func(why string) bool {
		out, _, _ := w.run("audit", "export")
		return strings.Contains(out, `"data":{"why":"`+why+`"}`)
	}
	w.until("a refusal of who may not ask any more", func() bool { return refused("unauthorized") })
	thread := w.mentionBy(ben, "what time is it")
	card := w.card(thread, 1)
	w.mentionBy(ben, "what time is it now")
	w.until("a refusal of one run too many", func() bool { return refused("limit") })
	w.mustClick(cleo, card, "approve")
	w.answer(thread, "Europe/Berlin")
	if body := string(w.model.Requests()[len(w.model.Requests())-1].Body); !strings.Contains(body,
		"You answer for bills.") {
		t.Errorf("the channel's agent was not asked: %s", body)
	}
}

// TestReloadDuringTheStart takes a SIGHUP that comes before the bot is ready: the file is read again once it is.
func TestReloadDuringTheStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	came := make(chan struct{})
	asked := sync.OnceFunc(func() { close(came) })
	w.slack.Fail(slackdev.Fault{Method: "auth.test", Delay: time.Second,
		Match: func(map[string]any) bool { asked(); return true }})
	bot := w.spawn(binary(t), w.env(), "run")
	<-came
	bot.signal(syscall.SIGHUP)
	bot.says("msg=ready")
	bot.says("agents file reloaded")
	w.answer(w.mention("pay 1"), "R-1")
}

// TestStopDuringTheStart: who stops the program while it waits for Slack or for its database has what they asked for.
func TestStopDuringTheStart(t *testing.T) {
	t.Parallel()
	t.Run("Slack", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, settings{})
		came := make(chan struct{})
		asked := sync.OnceFunc(func() { close(came) })
		w.slack.Fail(slackdev.Fault{Method: "auth.test", Delay: 2 * time.Second,
			Match: func(map[string]any) bool { asked(); return true }})
		bot := w.spawn(binary(t), w.env(), "run")
		<-came
		stopped(t, bot)
	})
	t.Run("database", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, settings{})
		bot := w.spawn(binary(t), w.env("COUNTERSIGN_STORE=postgres://bot@127.0.0.1:1/bots"), "run")
		bot.says("the database does not answer yet")
		stopped(t, bot)
	})
}

// stopped stops a bot that is not ready yet.
func stopped(t *testing.T, bot *process) {
	t.Helper()
	if code := bot.stop(); code != 0 || !strings.Contains(bot.out.String(), "stopped before it was ready") ||
		strings.Contains(bot.out.String(), "context canceled") {
		t.Errorf("it ended with %d:\n%s", code, bot.out.String())
	}
}

// TestHTTP serves health, readiness and metrics, and refuses what Slack did not sign.
func TestHTTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{http: true})
	numbers := freeAddress(t)
	w.start("COUNTERSIGN_METRICS_LISTEN=" + numbers)
	w.answer(w.mention("pay 1"), "R-1")
	for _, path := range []string{"/healthz", "/readyz"} {
		if code, body := get(t, w.listen, path); code != 200 {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	wanted := []string{
		`countersign_submissions_total{outcome="started"} 1`, `countersign_audit_entries_total{action="run.done"} 1`,
		"countersign_requests_pending 0", `countersign_model_call_seconds_count{outcome="ok"} 2`,
		`countersign_delivery_seconds_count{kind="answer",outcome="ok"} 1`, "go_goroutines",
	}
	for deadline := time.Now().Add(patience); ; { // the answer is seen before its delivery is counted
		_, body := get(t, numbers, "/metrics")
		missing := slices.DeleteFunc(slices.Clone(wanted),
			func(line string) bool { return strings.Contains(body, line) })
		if len(missing) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("/metrics does not say %q:\n%s", missing, body)
		}
	}
	resp, err := http.Post("http://"+w.listen+"/slack/events", "application/json",
		strings.NewReader(`{"type":"event_callback"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("an unsigned request got %d", resp.StatusCode)
	}
	if _, complaint, code := w.run("healthcheck", "--ready"); code != 0 {
		t.Errorf("healthcheck: %d %s", code, complaint)
	}
	w.listen = freeAddress(t)
	if _, _, code := w.run("healthcheck"); code != 1 {
		t.Errorf("healthcheck of nothing: %d", code)
	}
}

// TestDrain lets a tool that runs at SIGTERM finish, and goes on with the next start.
func TestDrain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	bot := w.start()
	thread := w.mention("pay 5")
	card := w.card(thread, 1)
	release := w.effects.holdBack()
	w.mustClick(ben, card, "approve")
	<-w.effects.came
	bot.signal(syscall.SIGTERM)
	bot.says("msg=stopping")
	release()
	if code := bot.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	next := w.start()
	w.answer(thread, "R-1")
	w.onlyEffect(`{"amount":5,"to":"acct"}`)
	w.judged(next)
}

// TestOutcomeUnknown asks a person after a crash in the middle of a call.
func TestOutcomeUnknown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	bot := w.start()
	thread := w.mention("pay 5")
	card := w.card(thread, 1)
	release := w.effects.holdBack()
	defer release()
	w.mustClick(ben, card, "approve")
	<-w.effects.came
	bot.kill()
	next := w.start()
	question := w.card(thread, 2)
	if !strings.Contains(question.Text, "Outcome unknown") {
		t.Errorf("the question's text: %s", question.Text)
	}
	shows(t, question, "Did it happen? pay: 5", "It was begun, and no result came back. It may have happened.",
		"It happened", "Try again", "Give up")
	w.settled(card, "unknown whether it ran")
	w.decides(ben, question, "mark-done", "it was paid")
	w.answer(thread, "it was paid")
	w.settled(question, "Approved")
	w.onlyEffect(`{"amount":5,"to":"acct"}`)
	w.judged(next)
}

// TestUninstalled ends the program when Slack takes the token away.
func TestUninstalled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	bot := w.start()
	w.answer(w.mention("pay 1"), "R-1")
	w.slack.RevokeToken()
	if code := bot.wait(); code == 0 || !strings.Contains(bot.out.String(), "countersign: ") {
		t.Errorf("exit code %d:\n%s", code, bot.out.String())
	}
	w.verified()
}

// TestTakenAddress: a start that cannot listen changes no store, so that the program before it can be put back: neither
// is a file of an older format brought to this one, nor is one made.
func TestTakenAddress(t *testing.T) {
	fileOnly(t, "the migrations of a database are made by whichever replica is first")
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, variable := range []string{"COUNTERSIGN_LISTEN", "COUNTERSIGN_METRICS_LISTEN"} {
		w := newWorld(t, settings{})
		older := oldStore(t)
		w.write("old.db", older)
		for _, file := range []string{"old.db", "absent.db"} {
			p := w.spawn(binary(t), w.env(variable+"="+taken.Addr().String(), "COUNTERSIGN_STORE=bolt:"+file), "run")
			if code := p.wait(); code != 1 || !strings.Contains(p.out.String(), variable+": ") ||
				!strings.Contains(p.out.String(), "in use") {
				t.Errorf("%s: exit code %d\n%s", variable, code, p.out.String())
			}
		}
		if w.read("old.db") != older {
			t.Errorf("%s: the start that failed has changed the store", variable)
		}
		if _, err := os.Stat(filepath.Join(w.dir, "absent.db")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the start that failed has made a store: %v", variable, err)
		}
	}
}
