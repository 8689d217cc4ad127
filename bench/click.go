package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"countersign/approvals"
)

const benchSecret = "bench-signing-secret"

// clicker sends signed block_actions over HTTP, as Slack does. It writes whole requests to connections that it keeps
// itself: the client of net/http takes longer over each, on the cores that the program is measured on.
type clicker struct {
	url  string
	idle chan *wire // one element for each connection that may be open; nil: not dialled yet
	next atomic.Int64
}

// wire is a connection to the program.
type wire struct {
	net.Conn
	in *bufio.Reader
}

func newClicker(url string, width int) *clicker {
	c := &clicker{url: url, idle: make(chan *wire, width)}
	for range width {
		c.idle <- nil
	}
	return c
}

// press is a whole request that is ready to be sent: written and signed beforehand, because whoever sends clicks
// competes for the processor with whoever takes them.
type press []byte

// prepare writes and signs a click on Approve on the card of each request. It is good for five minutes.
func (c *clicker) prepare(requests []*approvals.Request) ([]press, error) {
	all := make([]press, len(requests))
	for i, r := range requests {
		body, err := c.write(r)
		if err != nil {
			return nil, err
		}
		if all[i], err = c.sign(body); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (c *clicker) write(r *approvals.Request) ([]byte, error) {
	n := strconv.FormatInt(c.next.Add(1), 10)
	payload, err := json.Marshal(map[string]any{
		"type": "block_actions", "api_app_id": "ADEV", "trigger_id": "1." + n + ".x", "token": "legacy",
		"team": map[string]any{"id": string(benchWorkspace), "domain": "bench"},
		"user": map[string]any{"id": benchApprover.Local(), "username": "ann", "team_id": string(benchWorkspace)},
		"container": map[string]any{
			"type": "message", "message_ts": r.Cards[0].Message,
			"channel_id": r.Cards[0].Channel, "is_ephemeral": false,
		},
		"channel": map[string]any{"id": r.Cards[0].Channel, "name": "ops"},
		"message": map[string]any{
			"type": "message", "ts": r.Cards[0].Message, "text": "Approval needed", "blocks": filler,
		},
		"response_url": "http://127.0.0.1:1/response",
		"actions": []map[string]any{{
			"type": "button", "action_id": "approve", "block_id": "shown." + r.Digest.String() + ".2",
			"value": string(r.ID), "action_ts": "1." + n, "style": "primary",
			"text": map[string]any{"type": "plain_text", "text": "Approve"},
		}},
	})
	if err != nil {
		return nil, err
	}
	return []byte(url.Values{"payload": {string(payload)}}.Encode()), nil
}

// filler makes the payload as long as that of a real card.
var filler = func() (blocks []map[string]any) {
	for range 6 {
		blocks = append(blocks, map[string]any{
			"type": "section", "text": map[string]any{"type": "plain_text", "text": string(make3k()[:300])},
		})
	}
	return blocks
}()

func (c *clicker) sign(body []byte) (press, error) {
	req, err := http.NewRequest(http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, []byte(benchSecret))
	fmt.Fprintf(mac, "v0:%s:%s", stamp, body)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("X-Slack-Request-Timestamp", stamp)
	req.Header.Set("X-Slack-Signature", "v0="+hex.EncodeToString(mac.Sum(nil)))
	var out bytes.Buffer
	err = req.Write(&out)
	return out.Bytes(), err
}

// send sends a click and waits for the acknowledgement.
func (c *clicker) send(ctx context.Context, p press) (err error) {
	w := <-c.idle
	defer func() { c.idle <- w }()
	if w == nil {
		if w, err = c.dial(ctx); err != nil {
			return err
		}
	}
	again, err := w.send(p)
	if err != nil || !again {
		w.Close()
		w = nil
	}
	return err
}

func (c *clicker) dial(ctx context.Context) (*wire, error) {
	to, err := url.Parse(c.url)
	if err != nil {
		return nil, err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", to.Host)
	if err != nil {
		return nil, err
	}
	return &wire{conn, bufio.NewReader(conn)}, nil
}

// send sends one request, and reports whether the connection takes another.
func (w *wire) send(p press) (again bool, err error) {
	if err := w.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return false, err
	}
	if _, err := w.Write(p); err != nil {
		return false, err
	}
	resp, err := http.ReadResponse(w.in, nil)
	if err != nil {
		return false, err
	}
	said, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("click: %s: %s", resp.Status, said)
	}
	return !resp.Close, err
}

// benchClick measures a click from the request to its acknowledgement, which follows the commit, on the whole program.
// The policy wants two people, so that each click is a complete decision with its audit entry and its card update, but
// no run goes on and competes for the processor. Cards are brought up to date behind the clicks; how far behind, and
// what it costs, is said as well.
func benchClick(ctx context.Context, o options) error {
	pending, clicks := o.scale(15000, 1000), o.scale(4000, 200)
	p, err := startProgram(ctx, o, filepath.Join(o.dir, "click"), pending)
	if err != nil {
		return err
	}
	defer p.stop()
	c := newClicker(p.url+"/slack/interactions", 64)
	fmt.Printf("%d requests pending, program ready %.0f ms after its start\n\n", pending, ms(p.started))
	var next atomic.Int64
	presses, err := c.prepare(p.requests)
	if err != nil {
		return err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // so much is prepared that collecting it takes its time
	one := func(ctx context.Context, _ int) error { return c.send(ctx, presses[next.Add(1)-1]) }
	upToDate := func() (time.Duration, error) { return p.cardsUpToDate(ctx, int(next.Load())) }
	var rows [][]Figures
	if o.peers != "" {
		if rows, err = clicksInTurns(ctx, o, p, one, upToDate); err != nil {
			return err
		}
	}
	for _, width := range []int{1, 64} {
		if err := o.settled(ctx); err != nil {
			return err
		}
		before := p.cpu()
		name := fmt.Sprintf("countersign, %d at once, commit before ack", width)
		f, err := measure(ctx, name, clicks/(1+3/width), width, one)
		if err != nil {
			return err
		}
		f.PerCPUSecond = float64(f.Total) / (p.cpu() - before).Seconds()
		lag, err := upToDate()
		if err != nil {
			return err
		}
		f.RSS = p.rss()
		fmt.Printf("%d at once: the last card was up to date %.0f ms after the last acknowledgement; "+
			"with the cards %.0f clicks per CPU second\n",
			width, ms(lag), float64(f.Total)/(p.cpu()-before).Seconds())
		rows = append(rows, []Figures{f})
	}
	fmt.Println()
	printFigures("clicks", rows...)
	return nil
}

// clicksInTurns sends clicks to the program and to Bolt, which acknowledges and does nothing else, some hundred at a
// time: what else the machine does hits both alike. The cards are brought up to date in between, at nobody's expense.
// Both processes have just begun: the first clicks cost Bolt three times what they do once V8 has compiled what they
// run, so what comes first and what comes next are told apart.
func clicksInTurns(
	ctx context.Context, o options, p *process, one func(context.Context, int) error,
	upToDate func() (time.Duration, error),
) ([][]Figures, error) {
	const width = 64
	bolt, err := startBolt(ctx, o)
	if err != nil {
		return nil, err
	}
	defer bolt.stop()
	c := newClicker(bolt.url+"/slack/events", width)
	presses, err := c.prepare(p.requests[:width])
	if err != nil {
		return nil, err
	}
	var next atomic.Int64
	sides := []*side{
		{name: "countersign, commit before ack, in turns", process: p, one: one},
		{name: "@slack/bolt, ack only, in turns", process: bolt, one: func(ctx context.Context, _ int) error {
			return c.send(ctx, presses[int(next.Add(1)-1)%len(presses)])
		}},
	}
	for _, s := range sides { // as measure does
		if err := s.turn(ctx, width, width); err != nil {
			return nil, err
		}
	}
	each, turns := o.scale(600, 40), o.scale(8, 2)
	var rows [][]Figures
	for _, which := range []string{"the first", "the next"} {
		if err := o.settled(ctx); err != nil {
			return nil, err
		}
		sides[0].forget()
		sides[1].forget()
		var ratios []float64
		for range turns {
			for _, s := range sides {
				if err := s.turn(ctx, each, width); err != nil {
					return nil, err
				}
				if _, err := upToDate(); err != nil {
					return nil, err
				}
			}
			ratios = append(ratios, float64(sides[1].last)/max(float64(sides[0].last), 1))
		}
		slices.Sort(ratios)
		fmt.Printf("%s %d clicks of each process, in turns of %d: %.2f × as many per second of processor time as Bolt "+
			"acknowledges, %.2f to %.2f in single turns\n",
			which, turns*each, each, float64(sides[1].used)/float64(sides[0].used), ratios[0], ratios[len(ratios)-1])
		for _, s := range sides {
			rows = append(rows, []Figures{s.figures(width, which)})
		}
	}
	fmt.Println()
	return rows, nil
}

// side is one of two that take turns.
type side struct {
	name       string
	process    *process
	one        func(context.Context, int) error
	took       []time.Duration
	wall, used time.Duration
	last       time.Duration // processor time of the last turn
}

func (s *side) turn(ctx context.Context, clicks, width int) error {
	cpu, began := s.process.cpu(), time.Now()
	took, err := pool(ctx, clicks, width, s.one)
	s.last = s.process.cpu() - cpu
	s.wall, s.used = s.wall+time.Since(began), s.used+s.last
	s.took = append(s.took, took...)
	return err
}

// forget begins anew.
func (s *side) forget() { s.took, s.wall, s.used = nil, 0, 0 }

func (s *side) figures(width int, which string) Figures {
	slices.Sort(s.took)
	n := float64(len(s.took))
	return Figures{
		Name: s.name + ", " + which, Total: len(s.took), Width: width, PerSecond: n / s.wall.Seconds(),
		PerCPUSecond: n / s.used.Seconds(), P50: ms(quantile(s.took, 0.5)), P99: ms(quantile(s.took, 0.99)),
		RSS: s.process.rss(),
	}
}

// idle waits until a program that has started rests.
func (o options) idle() { time.Sleep(time.Duration(o.scale(20, 2)) * time.Second) }

// benchMemory measures what an idle program takes, and what a pending request adds.
func benchMemory(ctx context.Context, o options) error {
	many := o.scale(10000, 300)
	fmt.Println("| | ready after ms | resident MB | anonymous MB |\n|---|--:|--:|--:|")
	for _, n := range []int{0, many} {
		p, err := startProgram(ctx, o, filepath.Join(o.dir, "memory-"+strconv.Itoa(n)), n)
		if err != nil {
			return err
		}
		o.idle()
		fmt.Printf("| countersign, %d pending | %.0f | %.1f | %.1f |\n",
			n, ms(p.started), p.resident("VmRSS"), p.resident("RssAnon"))
		p.stop()
	}
	if o.peers != "" {
		p, err := startBolt(ctx, o)
		if err != nil {
			return err
		}
		o.idle()
		fmt.Printf("| @slack/bolt | %.0f | %.1f | %.1f |\n", ms(p.started), p.resident("VmRSS"), p.resident("RssAnon"))
		p.stop()
	}
	fmt.Println()
	return nil
}
