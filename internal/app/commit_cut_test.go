package app_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"countersign/internal/pgdev"
	"countersign/internal/slackdev"
)

// press has ben approve until the card takes no answer any more, as people do who are told to try again.
func (w *world) press(card slackdev.Message) {
	w.t.Helper()
	for {
		m, _ := w.slack.Message(general, card.TS)
		if !decidable(m) {
			return
		}
		if w.click(ben, m, "approve") == nil {
			w.until("the card to be decided", func() bool {
				m, _ := w.slack.Message(general, card.TS)
				return !decidable(m)
			})
		}
	}
}

// TestCommitsAreCut: the connections of a replica to its database break at every seventh COMMIT, before the server has
// seen it or before its answer has come. Everything goes on by itself, and everything happens once.
func TestCommitsAreCut(t *testing.T) {
	t.Parallel()
	const threads = 4
	w := newWorld(t, settings{postgres: true, hazards: true, slack: slackdev.Config{AckTimeout: 20 * time.Second}})
	direct := w.store
	p := pgdev.NewProxy(t, pgdev.Start(t).Socket())
	w.store = throughProxy(direct, p)
	bot := w.start()
	w.round(threads)
	w.measure(bot)
	p.Every.Store(7)
	w.round(threads)
	p.Every.Store(0)
	if n := p.Cuts.Load(); n < threads {
		t.Errorf("control: only %d connections were cut", n)
	} else {
		t.Logf("%d connections were cut", n)
	}
	if n := len(w.effects.all()); n != 2*threads {
		t.Errorf("%d calls, want %d", n, 2*threads)
	}
	w.store = direct
	w.judged(bot)
}

// throughProxy is the URL of the same database behind the proxy.
func throughProxy(url string, p *pgdev.Proxy) string {
	_, rest, _ := strings.Cut(url, "@")
	_, database, _ := strings.Cut(rest, "/")
	database, _, _ = strings.Cut(database, "?")
	return withPassword("postgres://postgres@" + p.Addr + "/" + database + "?sslmode=disable")
}

// TestDatabaseFailsOver: the primary is lost while people ask and answer, and its synchronous standby takes over. What
// they were told is taken is there, and everything goes on by itself.
func TestDatabaseFailsOver(t *testing.T) {
	t.Parallel()
	const threads = 4
	primary := pgdev.Own(t, pgdev.Options{})
	standby := primary.Standby(t)
	primary.RequireStandby(t)
	w := newWorld(t, settings{hazards: true, slack: slackdev.Config{AckTimeout: 3 * time.Second}})
	w.store = withPassword(pgdev.URLOf("postgres", standby, primary))
	bot := w.start()
	w.round(threads)
	w.measure(bot)
	var all []string
	var cards []slackdev.Message
	for i := range threads {
		all = append(all, w.mention(fmt.Sprint("pay 1", i)))
		cards = append(cards, w.card(all[i], 1))
	}
	w.mustClick(ben, cards[0], "approve") // its call may be under way
	primary.Stop(true)
	if err := w.click(ben, cards[1], "approve"); err == nil {
		t.Error("an answer is taken without a database")
	}
	standby.Promote(t)
	for _, card := range cards[1:] {
		w.press(card)
	}
	for i, thread := range all {
		w.until("an answer, or a question", func() bool {
			return w.answersWith(thread, "answer:") > 0 || len(w.cards(thread)) > 1
		})
		if asked := w.cards(thread); len(asked) > 1 { // what became of the call
			w.decides(ben, asked[1], "mark-done", "the bank says so")
			w.answer(thread, "answer:")
		} else if i > 0 {
			w.oneOfEach(thread, 1)
		}
	}
	w.judged(bot)
}
