package simulation_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"countersign/approvals"
	"countersign/internal/invariant"
	"countersign/internal/slackdev"
	"countersign/store/storetest"
)

// play lets things happen for a while: people write and click, processes die and freeze, clocks are set.
func (w *world) play() {
	threads := []string{}
	for range 12 + w.dice.n("steps", 20) {
		time.Sleep(w.dice.pause("between steps", 40*time.Second))
		switch w.dice.n("step", 16) {
		case 0, 1, 2:
			thread := ""
			if len(threads) > 0 && w.dice.n("follow up", 3) == 0 {
				thread = threads[w.dice.n("which thread", len(threads))]
			}
			text := fmt.Sprintf("<@U0BOT> please, %d", len(threads))
			ts, err := w.slack.Post(w.t.Context(), ann, general, text, thread)
			w.must(err)
			if thread == "" {
				threads = append(threads, ts)
			}
		case 3:
			w.crash()
		case 4:
			w.pauseOne()
		case 5:
			w.data.Step(time.Duration(w.dice.n("clock", 40)-20) * 6 * time.Minute)
		default:
			w.press()
		}
	}
}

// victim is a replica that is alive, or nil.
func (w *world) victim() *replica {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.replicas[w.dice.n("victim", len(w.replicas))]
	if p.dead.Load() {
		return nil
	}
	return p
}

// crash has a replica die at one of its next steps.
func (w *world) crash() {
	if p := w.victim(); p != nil {
		w.doom(p, 1+w.dice.n("fuse", 80))
	}
}

// doom has the replica die when it has passed its gate n times, and another one started in its place.
func (w *world) doom(p *replica, n int) {
	if p.doomed.Swap(true) {
		return
	}
	p.dieAfter(n)
	down := w.dice.pause("down for", time.Minute)
	w.wg.Go(func() {
		select {
		case <-p.ended:
		case <-time.After(time.Minute):
			w.note("death of " + p.name)
			p.die()
			<-p.ended
		}
		time.Sleep(down)
		w.replace(p)
	})
}

func (w *world) replace(p *replica) {
	next := w.boot(p.name + "'")
	w.mu.Lock()
	defer w.mu.Unlock()
	w.replicas[slices.Index(w.replicas, p)] = next
}

// pauseOne freezes a replica for longer, or not as long, as its leases last.
func (w *world) pauseOne() {
	if p := w.victim(); p != nil {
		w.note("freeze of " + p.name)
		p.freeze()
		after := w.dice.pause("frozen for", time.Minute)
		w.wg.Go(func() {
			time.Sleep(after)
			w.note("thaw of " + p.name)
			p.thaw()
		})
	}
}

// press has somebody press a button of a card, and perhaps somebody else another one at once.
func (w *world) press() {
	cards := slices.DeleteFunc(w.slack.Messages(general), func(m slackdev.Message) bool { return !decides(m) })
	if len(cards) == 0 {
		return
	}
	card := cards[w.dice.n("card", len(cards))]
	for range 1 + w.dice.n("together", 2) {
		who := []string{ben, cleo, ben, cleo, ann, gus}[w.dice.n("who", 6)]
		actions := []string{"approve", "approve", "approve", "reject", "always_approve", "cancel_run"}
		if _, unknown := card.Button("mark_done"); unknown {
			actions = []string{"mark_done", "retry", "give_up"}
		}
		c, ok := card.Press(who, actions[w.dice.n("what", len(actions))])
		if !ok {
			continue
		}
		w.wg.Go(func() {
			_ = w.slack.Click(w.t.Context(), c) // whatever Slack says of it, the records must hold
		})
	}
}

// settle ends all faults and waits until nothing is left to do.
func (w *world) settle() {
	w.dice.rest()
	w.data.Unreliable(storetest.Chaos{})
	time.Sleep(5 * time.Minute) // crashes under way end, and dead processes are replaced
	w.mu.Lock()
	for _, p := range w.replicas {
		p.dieAfter(0)
		p.thaw()
	}
	w.mu.Unlock()
	time.Sleep(40 * time.Minute) // longer than requests may wait
}

// close ends the replicas in good order.
func (w *world) close() {
	w.mu.Lock()
	all := slices.Clone(w.replicas)
	w.mu.Unlock()
	for _, p := range all {
		p.kill()
		<-p.ended
	}
	w.wg.Wait()
	w.must(w.slack.Close())
}

func isCard(m slackdev.Message) bool {
	return m.Metadata != nil && m.Metadata.EventType == "countersign_approval"
}

func decides(m slackdev.Message) bool {
	return isCard(m) && slices.ContainsFunc(m.Actions(), func(a string) bool {
		return slices.Contains([]string{"approve", "reject", "mark_done", "retry", "give_up"}, a)
	})
}

// look notes what is to be seen in Slack.
func (w *world) look() *invariant.World {
	s := &w.seen
	s.Workspaces = []approvals.WorkspaceID{team}
	s.CardsSeen, s.AnswersSeen, s.Delivered = true, true, true
	s.Ungated, s.Idempotent = []string{"note"}, []string{"look"}
	s.Deciders = []approvals.UserID{user(ben), user(cleo)}
	s.Secrets = []string{w.slack.Config().BotToken, w.slack.Config().SigningSecret}
	s.Told = map[string]string{"the log": w.log.String()}
	for _, m := range w.slack.Messages(general) {
		switch {
		case isCard(m):
			s.Cards = append(s.Cards, invariant.Card{Where: m.ThreadTS, Shown: m.Shown(), Decides: decides(m),
				Withdrawn: strings.HasPrefix(m.Shown(), "This is a copy of a card that is no longer in use"),
				Request:   approvals.RequestID(fmt.Sprint(m.Metadata.EventPayload["request"]))})
		case m.User == w.slack.Config().App.BotUserID && strings.HasPrefix(m.Shown(), "answer after"):
			s.Answers = append(s.Answers, invariant.Answer{Channel: general, Thread: m.ThreadTS, Text: m.Shown()})
		}
	}
	return s
}
