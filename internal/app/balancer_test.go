package app_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/internal/slackdev"
)

// balancer stands between Slack and two replicas in HTTP mode. It gives requests to either in turn, and to the other
// one what cannot reach its replica.
type balancer struct {
	to [2]string // addresses

	mu    sync.Mutex
	turn  int
	loses bool // the answer to the first attempt at each event is lost: Slack tries again, at the other replica
	twice bool // a click or command reaches both replicas at once, as when a balancer gives up waiting and tries again
	taken [2]int
	again int // events that were delivered again
}

func (b *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	event := bytes.HasPrefix(body, []byte("{"))
	first := r.Header.Get("X-Slack-Retry-Num") == ""
	b.mu.Lock()
	b.turn++
	at, loses, twice := b.turn%2, b.loses && event && first, b.twice && !event
	if event && !first {
		b.again++
	}
	b.mu.Unlock()
	var other sync.WaitGroup
	if twice {
		other.Go(func() { _, _, _ = b.pass(r, 1-at, body) })
	}
	status, answer, err := b.pass(r, at, body)
	if err != nil { // that replica is gone
		status, answer, err = b.pass(r, 1-at, body)
	}
	other.Wait()
	switch {
	case err != nil:
		http.Error(w, "bad gateway", http.StatusBadGateway)
	case loses:
		http.Error(w, "the answer was lost", http.StatusGatewayTimeout)
	default:
		if bytes.HasPrefix(answer, []byte("{")) {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(status)
		_, _ = w.Write(answer)
	}
}

// pass hands a request to a replica, as it came.
func (b *balancer) pass(r *http.Request, at int, body []byte) (status int, answer []byte, err error) {
	to := url.URL{Scheme: "http", Host: b.to[at], Path: r.URL.Path, RawQuery: r.URL.RawQuery}
	req, err := http.NewRequestWithContext(r.Context(), r.Method, to.String(), bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header = r.Header.Clone()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	b.mu.Lock()
	b.taken[at]++
	b.mu.Unlock()
	return resp.StatusCode, answer, err
}

func (b *balancer) set(loses, twice bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.loses, b.twice = loses, twice
}

func (b *balancer) counted() (taken [2]int, again int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.taken, b.again
}

// newBalanced are two replicas in HTTP mode behind a balancer.
func newBalanced(t *testing.T) (*replicas, *balancer) {
	t.Helper()
	w := newWorld(t, settings{postgres: true, http: true, hazards: true,
		slack: slackdev.Config{AckTimeout: 20 * time.Second}})
	l, err := net.Listen("tcp", w.listen) // the address that Slack knows
	if err != nil {
		t.Fatal(err)
	}
	b := &balancer{to: [2]string{freeAddress(t), freeAddress(t)}}
	front := httptest.NewUnstartedServer(b)
	front.Listener.Close()
	front.Listener = l
	front.Start()
	t.Cleanup(front.Close)
	r := &replicas{world: w}
	r.both[0] = r.start("COUNTERSIGN_LISTEN=" + b.to[0])
	r.both[1] = r.start("COUNTERSIGN_LISTEN="+b.to[1], "EFFECTS_TOKEN="+ofSecond)
	return r, b
}

// TestReplicasBehindABalancer: Slack's requests reach either replica, events a second time at the other one because
// the first answer was lost, clicks and commands at both at once; then one replica is killed while it carries out a
// call. Every mention, click and command counts once, every call is made once, and there is one card of each question.
func TestReplicasBehindABalancer(t *testing.T) {
	t.Parallel()
	const threads = 3
	r, b := newBalanced(t)
	b.set(true, true)
	var all []string
	for i := range threads {
		all = append(all, r.mention(fmt.Sprint("pay 1", i)))
	}
	for _, thread := range all {
		r.mustClick(ben, r.card(thread, 1), "approve")
	}
	for _, thread := range all {
		r.answer(thread, "answer:")
		r.oneOfEach(thread, 1)
	}
	if n := len(r.effects.all()); n != threads {
		t.Errorf("%d calls, want %d", n, threads)
	}
	if said := r.ephemeral(ben, "history"); strings.Count(said, "Approved") < threads {
		t.Errorf("a command answers %s", said)
	}
	taken, again := b.counted()
	if taken[0] < threads || taken[1] < threads || again < threads {
		t.Errorf("control: the replicas took %v requests, and %d events came again", taken, again)
	}
	trail := r.must("audit", "export", "--json")
	for action, want := range map[string]int{"run.submitted": threads, "decision.recorded": threads,
		"decision.refused": 0, "request.approved": threads} {
		if n := strings.Count(trail, `"action":"`+action+`"`); n != want {
			t.Errorf("the trail has %d entries %s, want %d", n, action, want)
		}
	}

	release := r.effects.holdBack()
	t.Cleanup(release)
	for len(r.effects.came) > 0 {
		<-r.effects.came
	}
	last := r.mention("pay 5")
	r.mustClick(ben, r.card(last, 1), "approve")
	victim, other := r.caller()
	victim.kill()
	release()
	question := r.card(last, 2) // what became of the call
	after := r.mention("pay 19")
	r.mustClick(ben, r.card(after, 1), "approve")
	r.answer(after, "answer:")
	r.decides(ben, question, "mark-done", "the bank says so")
	r.answer(last, "answer:")
	r.oneOfEach(last, 2)
	r.oneOfEach(after, 1)
	if n := len(r.effects.all()); n != threads+2 {
		t.Errorf("%d calls, want %d: %q", n, threads+2, bodies(r.effects.all()))
	}
	r.judged(other)
}
