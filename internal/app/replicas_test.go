package app_test

import (
	"errors"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/internal/pgdev"
	"countersign/internal/slackdev"
)

// recovery is within how long the work of a replica that is gone goes on at another one.
const recovery = 30 * time.Second

// replicas are two starts of the program on one database, in one workspace.
type replicas struct {
	*world
	both [2]*process
}

// ofSecond is what the second replica sends with its calls, so that one sees who has made them.
const ofSecond = canaryToken + "-second"

func newReplicas(t *testing.T, s settings) *replicas {
	t.Helper()
	s.postgres, s.hazards = true, true
	r := &replicas{world: newWorld(t, s)}
	r.both[0], r.both[1] = r.start(), r.start("EFFECTS_TOKEN="+ofSecond)
	r.until("both hear Slack", func() bool { return r.slack.Connections() == 2 })
	return r
}

// caller waits for a call to reach the world outside and returns which replica has made it, and the other one.
func (r *replicas) caller() (who, other *process) {
	r.t.Helper()
	select {
	case <-r.effects.came:
	case <-time.After(patience):
		r.t.Fatalf("no call came\n%s", r.transcript())
	}
	all := r.effects.all()
	if strings.HasSuffix(all[len(all)-1].authorization, "-second") {
		return r.both[1], r.both[0]
	}
	return r.both[0], r.both[1]
}

// TestReplicaEndsInTheMiddleOfATool: a replica is killed, frozen, or told to stop, while it carries out a call. The
// other one asks people what became of it, and goes on; the call was made once, there is one answer, and one card of
// each question, also when the frozen replica thaws.
func TestReplicaEndsInTheMiddleOfATool(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]syscall.Signal{
		"killed": syscall.SIGKILL, "frozen": syscall.SIGSTOP, "stopped": syscall.SIGTERM,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReplicas(t, settings{slack: slackdev.Config{AckTimeout: 20 * time.Second}})
			release := r.effects.holdBack()
			t.Cleanup(release)
			thread := r.mention("pay 5")
			r.mustClick(ben, r.card(thread, 1), "approve")
			victim, other := r.caller()
			began := time.Now()
			victim.signal(how)
			var question slackdev.Message
			r.until("the question what became of the call", func() bool {
				cards := r.cards(thread)
				i := slices.IndexFunc(cards, func(m slackdev.Message) bool {
					return slices.Contains(m.Actions(), "mark_done")
				})
				if i >= 0 {
					question = cards[i]
				}
				return i >= 0
			})
			took := time.Since(began)
			t.Logf("%s: the question came after %s", name, took.Round(time.Millisecond))
			if *long && took > recovery {
				t.Errorf("recovery took %s, at most %s", took, recovery)
			}
			r.decides(ben, question, "mark-done", "the bank says so")
			r.answer(thread, "answer:")
			left := []*process{other}
			if how == syscall.SIGSTOP {
				left = append(left, victim)
				victim.signal(syscall.SIGCONT)
				release()
				// It finds out that it has lost the run: what it does then is done when it says so, and answers again.
				victim.says("run was taken over")
			}
			r.onlyCall("pay")
			r.oneOfEach(thread, 2)
			r.judged(left...)
		})
	}
}

func (r *replicas) onlyCall(path string) {
	r.t.Helper()
	if calls := r.effects.all(); len(calls) != 1 || calls[0].path != "/"+path {
		r.t.Errorf("%d calls %q, want one", len(calls), bodies(calls))
	}
}

// oneOfEach fails the test unless the thread has so many cards, each of another request, and one answer.
func (w *world) oneOfEach(thread string, cards int) {
	w.t.Helper()
	requests := map[approvals.RequestID]int{}
	for _, m := range w.cards(thread) {
		requests[requestOf(m)]++
	}
	answers := w.answersWith(thread, "answer:")
	if len(requests) != cards || len(w.cards(thread)) != cards || answers != 1 {
		w.t.Errorf("cards of the requests %v, and %d answers\n%s", requests, answers, w.transcript())
	}
}

// TestReplicasShareTheWork: many people ask and click at once, and Slack tells either replica, also when it has dropped
// their connections. Afterwards both have worked, every line of what happened is in one log, and they hold no more
// than after the first round.
func TestReplicasShareTheWork(t *testing.T) {
	t.Parallel()
	const (
		threads = 5 // as many as one person may have at once
		rounds  = 4
	)
	r := newReplicas(t, settings{slack: slackdev.Config{AckTimeout: 20 * time.Second}})
	for round := range rounds {
		if round > 0 { // Slack gives an event up that nobody hears for long
			r.slack.DropConnections()
			r.until("both hear Slack again", func() bool { return r.slack.Connections() == 2 })
		}
		before := len(r.slack.Deliveries())
		r.round(threads)
		by := map[int]bool{}
		for _, d := range r.slack.Deliveries()[before:] {
			by[d.Conn] = true
		}
		if len(by) != 2 {
			t.Errorf("control: in round %d everything came by one connection", round+1)
		}
		if round == 0 {
			r.measure(r.both[:]...)
		}
	}
	if n := len(r.effects.all()); n != threads*rounds {
		t.Errorf("%d calls, want %d", n, threads*rounds)
	}
	lines := func() (n int) {
		for _, p := range r.both {
			n += strings.Count(p.out.String(), "msg=request.approved ")
		}
		return n
	}
	r.judged(r.both[:]...) // ended in order, they link what was appended last
	if n := lines(); n != threads*rounds {
		t.Errorf("%d lines of approved requests in both logs, want %d", n, threads*rounds)
	}
}

// TestCommandsReachADatabase: through the socket of a replica, and with the credentials of the database; the trail says
// which. What is done with a file is said to be something else here.
func TestCommandsReachADatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{postgres: true})
	bot := w.start()
	second := w.mention("pay 6")
	w.card(second, 1)
	other := w.pending()
	w.must("approvals", "decide", other, "--approve", "--as", ben)
	w.answer(second, "answer:")
	thread := w.mention("pay 5")
	w.card(thread, 1)
	id := w.pending()
	bot.stop()
	w.must("approvals", "decide", id, "--approve", "--as", ben)
	via := regexp.MustCompile(`"action":"decision.recorded".*"request":"([a-z0-9_]+)".*"via":"([a-z]+)"`)
	have := map[string]string{}
	for _, m := range via.FindAllStringSubmatch(w.must("audit", "export", "--json"), -1) {
		have[m[1]] = m[2]
	}
	if have[other] != "socket" || have[id] != "database" {
		t.Errorf("the trail says via %v, want %s socket and %s database", have, other, id)
	}
	for command, want := range map[string]string{
		"backup copy.db": "pg_dump", "restore countersign.yaml": "pg_restore", "compact": "countersign migrate",
	} {
		_, complaint, code := w.run(strings.Fields(command)...)
		if code != 2 || !strings.Contains(complaint, want) || !strings.Contains(complaint, "PostgreSQL") {
			t.Errorf("%s: %d %s", command, code, complaint)
		}
	}
	w.start()
	w.answer(thread, "answer:")
	w.verified()
}

// TestDatabaseThatIsGone: the start waits for it; without it a replica is alive and not ready, a click is answered in
// words, and with it everything goes on by itself.
func TestDatabaseThatIsGone(t *testing.T) {
	t.Parallel()
	server := pgdev.Own(t, pgdev.Options{})
	w := newWorld(t, settings{hazards: true, slack: slackdev.Config{AckTimeout: 3 * time.Second}})
	w.store = strings.Replace(server.Database(t), "postgres@", "postgres:"+canaryStore+"@", 1)
	w.listen = freeAddress(t)
	server.Stop(false)
	bot := w.spawn(binary(t), w.env(), "run")
	bot.says("the database does not answer yet; waiting for it")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	bot.says("msg=ready")
	thread := w.mention("pay 5")
	card := w.card(thread, 1)
	probe := func(path string) (int, string) {
		resp, err := http.Get("http://" + w.listen + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(body)
	}
	if code, body := probe("/readyz"); code != 200 {
		t.Fatalf("control: readyz says %d %s", code, body)
	}
	server.Stop(true)
	if code, body := probe("/readyz"); code != 503 || !strings.Contains(body, "the store does not answer") {
		t.Errorf("readyz says %d %s", code, body)
	}
	bot.says("ALERT: the store does not answer")
	alert := regexp.MustCompile(`ALERT: the store does not answer.*`).FindString(bot.out.String())
	if !strings.Contains(alert, "nobody answers") || strings.Contains(alert, canaryStore) {
		t.Errorf("the log does not have why: %s", alert)
	}
	if code, body := probe("/healthz"); code != 200 || !strings.Contains(body, "the store does not answer") {
		t.Errorf("healthz says %d %s", code, body)
	}
	if _, complaint, code := w.run("healthcheck", "--ready"); code != 1 ||
		!strings.Contains(complaint, "the store does not answer") {
		t.Errorf("healthcheck: %d %s", code, complaint)
	}
	if err := w.click(ben, card, "approve"); !errors.Is(err, slackdev.ErrTrouble) { // nothing is recorded
		t.Errorf("a click without the database: %v", err)
	}
	told := func() bool {
		return slices.ContainsFunc(w.slack.Ephemerals(ben), func(m slackdev.Message) bool {
			return strings.Contains(m.Text, "was not recorded")
		})
	}
	if !told() { // Slack has waited for three seconds
		t.Error("the person is told nothing in time")
	}
	bot.says("ALERT: the store does not answer")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	w.until("readiness", func() bool { code, _ := probe("/readyz"); return code == 200 })
	bot.says("the store answers again")
	w.clickAgain(ben, card, "approve")
	w.answer(thread, "answer:")
	w.judged(bot)
}

// TestDatabaseThatRefuses: what a person has to mend ends the start at once, with exit code 2, and is said without the
// URL.
func TestDatabaseThatRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{postgres: true})
	good := w.store
	for name, c := range map[string]struct{ url, want string }{
		"no database": {strings.Replace(good, "localhost/", "localhost/none_", 1), "there is no database none_"},
		"no role":     {strings.Replace(good, "postgres:"+canaryStore, "nobody", 1), "nobody"},
		"schema":      {good + "&schema=public", "schema must be"},
		"no promise":  {good + "&synchronous_commit=off", "set it to on"},
		"parameter":   {good + "&statment_timeout=10s", "mend them"},
		"no URL":      {"postgres://bot:" + canaryStore + "@[::/db", "unusable"},
	} {
		w.store = c.url
		_, complaint, code := w.run("run")
		if code != 2 || !strings.Contains(complaint, c.want) || !strings.Contains(complaint, "COUNTERSIGN_STORE") {
			t.Errorf("%s: %d %s", name, code, complaint)
		}
		if strings.Contains(complaint, c.url) {
			t.Errorf("%s: the URL is said: %s", name, complaint)
		}
	}
}
