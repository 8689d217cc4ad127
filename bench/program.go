package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"countersign/approvals"
	"countersign/internal/slackdev"
	"countersign/store/pgstore"
)

// agentsFile is what the measured program runs with. Two people must agree, see benchClick.
const agentsFile = `version: 1
default_agent: bench
requesters: { channel_members: true }
limits: { runs_per_person: 100000, runs_per_channel: 10000, pending_per_person: 100000 }
agents:
  bench:
    instructions: You move money.
    model: bench-model
    tools:
      - type: http
        name: transfer
        description: Move money between two accounts.
        parameters:
          type: object
          properties: { amount: { type: number }, to: { type: string } }
          required: [amount, to]
        method: POST
        url: http://127.0.0.1:1/transfer
        needs_approval: true
default_policy:
  approvers: { users: [UAPPROVER, UANOTHER] }
  quorum: 2
`

// programRequirement is what default_policy of agentsfile demands.
func programRequirement() approvals.Requirement {
	q := benchRequirement
	q.Seats = approvals.Quorum(2, approvals.Approvers{Users: []approvals.UserID{
		benchApprover, approvals.NewUserID(benchWorkspace, "UANOTHER"),
	}})
	return q
}

// process is a measured program in a process of its own.
type process struct {
	cmd      *exec.Cmd
	url      string
	started  time.Duration
	requests []*approvals.Request
	slack    *slackdev.Workspace
	quick    *quickSlack // if launching.quick
	ended    func()
}

// startProgram starts the program in HTTP mode on a store with that many pending requests, whose cards are posted,
// against a local workspace.
func startProgram(ctx context.Context, o options, dir string, pending int) (*process, error) {
	return launchWith(ctx, o, dir, launching{
		quick: true,
		prepare: func(ws *slackdev.Workspace, rig *serviceRig) ([]*approvals.Request, error) {
			requests, err := rig.seed(ctx, pending, programRequirement())
			if err != nil {
				return nil, err
			}
			return requests, rig.postCards(ctx, ws.APIURL(), requests)
		},
	})
}

// launch starts the program on the store in dir, once prepare has filled it, and waits until it is ready.
func launch(
	ctx context.Context, o options, dir string,
	prepare func(*slackdev.Workspace, *serviceRig) ([]*approvals.Request, error),
) (*process, error) {
	return launchWith(ctx, o, dir, launching{prepare: prepare})
}

// launching is what a measured program begins with.
type launching struct {
	model   string                 // where the model is; empty: nowhere
	slack   func(*slackdev.Config) // what is special about the workspace; may be nil
	quick   bool                   // Slack answers through quickSlack
	prepare func(*slackdev.Workspace, *serviceRig) ([]*approvals.Request, error)
}

func launchWith(ctx context.Context, o options, dir string, l launching) (*process, error) {
	if o.program == "" {
		return nil, errors.New("-program is missing: what to measure; bench/run builds it")
	}
	listen, err := freePort()
	if err != nil {
		return nil, err
	}
	cfg := benchConfig(listen)
	if l.slack != nil {
		l.slack(&cfg)
	}
	ws, err := slackdev.Start(cfg)
	if err != nil {
		return nil, err
	}
	rig, err := o.rig(ctx, dir)
	if err != nil {
		return nil, err
	}
	requests, err := l.prepare(ws, rig)
	rig.close()
	if err == nil {
		err = o.settled(ctx)
	}
	if err != nil {
		return nil, err
	}
	agents := filepath.Join(dir, "countersign.yaml")
	if err := os.WriteFile(agents, []byte(agentsFile), 0o600); err != nil {
		return nil, err
	}
	api := ws.APIURL()
	var quick *quickSlack
	if l.quick {
		if quick, api, err = startQuickSlack(ws); err != nil {
			return nil, err
		}
	}
	cmd := exec.CommandContext(ctx, o.program, "run")
	cmd.Env = append(os.Environ(),
		"SLACK_BOT_TOKEN=xoxb-dev-0000", "SLACK_SIGNING_SECRET="+benchSecret, "SLACK_API_URL="+api,
		"OPENAI_API_KEY=bench", "OPENAI_BASE_URL="+cmp.Or(l.model, "http://127.0.0.1:1/v1"),
		"COUNTERSIGN_AGENTS="+agents,
		"COUNTERSIGN_STORE="+cmp.Or(o.store, "bolt:"+filepath.Join(dir, "countersign.db")),
		"COUNTERSIGN_SLACK_MODE=http",
		"COUNTERSIGN_LISTEN="+listen,
		"COUNTERSIGN_LOG_LEVEL=error")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	p := &process{cmd: cmd, url: "http://" + listen, requests: requests, slack: ws, quick: quick}
	p.ended = func() {
		if quick != nil {
			quick.close()
		}
		ws.Close()
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if err := p.awaitReady(ctx); err != nil {
		p.stop()
		return nil, err
	}
	p.started = time.Since(start)
	return p, nil
}

// rig is a service on the store that the program is to have.
func (o options) rig(ctx context.Context, dir string) (*serviceRig, error) {
	if o.store == "" {
		return newServiceRig(dir, nil)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	st, err := pgstore.Open(ctx, o.store, pgstore.Config{})
	if err != nil {
		return nil, err
	}
	return rigOn(st, nil)
}

func benchConfig(listen string) slackdev.Config {
	users := []slackdev.User{
		{ID: benchRequester.Local(), Name: "rita"}, {ID: benchApprover.Local(), Name: "ann"},
		{ID: "UANOTHER", Name: "ben"},
	}
	members := []string{benchRequester.Local(), benchApprover.Local(), "UANOTHER"}
	for i := range requesters {
		u := requester(i).Local()
		users, members = append(users, slackdev.User{ID: u, Name: strings.ToLower(u)}), append(members, u)
	}
	var channels []slackdev.Channel
	for i := range 100 {
		channels = append(channels, slackdev.Channel{
			ID: channelID(i), Name: "ops-" + strconv.Itoa(i), BotMember: true,
			Members: members,
		})
	}
	base := "http://" + listen + "/slack/"
	return slackdev.Config{
		Team:          slackdev.Team{ID: string(benchWorkspace), Domain: "bench", Name: "Bench"},
		App:           slackdev.App{ID: "ADEV", BotUserID: "UBOT", BotID: "BBOT", Name: "countersign"},
		Events:        []string{"app_mention"},
		SigningSecret: benchSecret, Users: users, Channels: channels, Mode: slackdev.ModeHTTP,
		RequestURL: slackdev.RequestURLs{
			Events: base + "events", Interactions: base + "interactions", Commands: base + "commands",
		},
	}
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// awaitReady asks until the program says that it is ready.
func (p *process) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/readyz", nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	return fmt.Errorf("the program is not ready: %w", context.Cause(ctx))
}

// cardsUpToDate waits until as many cards were updated as there were clicks, each on a card of its own, and returns how
// long that took.
func (p *process) cardsUpToDate(ctx context.Context, clicks int) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	began := time.Now()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		updated, err := p.quick.updated()
		if err != nil {
			return 0, err
		}
		if updated >= clicks {
			return time.Since(began), nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return 0, fmt.Errorf("%d of %d cards are up to date: %w", updated, clicks, context.Cause(ctx))
		}
	}
}

// startBolt starts the Bolt app that acknowledges clicks.
func startBolt(ctx context.Context, o options) (*process, error) {
	cmd := exec.CommandContext(ctx, "node", filepath.Join(o.peers, "click.mjs"), benchSecret, "http://127.0.0.1:1/api/")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	fields := strings.Fields(line)
	if err != nil || len(fields) < 2 || fields[0] != "ready" {
		cmd.Process.Kill()
		return nil, errors.Join(fmt.Errorf("bolt said %q", line), err)
	}
	return &process{cmd: cmd, url: "http://127.0.0.1:" + fields[1], started: time.Since(start), ended: func() {}}, nil
}

// cpu returns the processor time of the process so far.
func (p *process) cpu() time.Duration {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * (time.Second / 100)
}

func (p *process) rss() float64 { return p.resident("VmHWM") }

// resident returns a memory figure of the process in MB: VmRSS, VmHWM (the peak) or RssAnon.
func (p *process) resident(key string) float64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, key+":"); ok {
			kb, _ := strconv.Atoi(strings.Fields(rest)[0])
			return float64(kb) / 1024
		}
	}
	return 0
}

func (p *process) stop() {
	p.cmd.Process.Signal(syscall.SIGTERM)
	p.cmd.Wait()
	p.ended()
}

// postCards posts a message for every request and records it, so that a decision has a card to update.
func (r *serviceRig) postCards(ctx context.Context, api string, requests []*approvals.Request) error {
	_, err := pool(ctx, len(requests), 8, func(ctx context.Context, i int) error {
		q := requests[i]
		form := url.Values{"channel": {q.Place.Channel}, "text": {"Approval needed"}}
		body := strings.NewReader(form.Encode())
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, api+"chat.postMessage", body)
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Authorization", "Bearer xoxb-dev-0000")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		var posted struct {
			TS    string `json:"ts"`
			Error string `json:"error"`
		}
		if err := json.NewDecoder(resp.Body).Decode(&posted); err != nil || posted.Error != "" {
			return fmt.Errorf("post a card: %s %w", posted.Error, err)
		}
		q.Cards = []approvals.Card{{Channel: q.Place.Channel, Message: posted.TS}}
		return r.store.Update(ctx, func(tx approvals.Tx) error { return tx.PutRequest(q) })
	})
	return err
}

func channelID(i int) string { return fmt.Sprintf("CBENCH%03d", i) }
