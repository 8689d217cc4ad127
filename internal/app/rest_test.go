package app_test

import (
	"bufio"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"countersign/approvals"
	"countersign/internal/control"
	"countersign/internal/invariant"
	"countersign/internal/slackdev"
)

var listening = regexp.MustCompile(`msg=listening address=(\S+)`)

// numbers are what the process says of itself on its page of metrics, by name and labels; nil once it has ended.
func (p *process) numbers() map[string]float64 {
	p.t.Helper()
	at := listening.FindStringSubmatch(p.out.String())
	if at == nil {
		p.t.Fatalf("the process does not say where it listens:\n%s", p.out.String())
	}
	resp, err := http.Get("http://" + at[1] + "/metrics")
	if err != nil {
		select {
		case <-p.exited:
			return nil
		default:
			p.t.Fatal(err)
		}
	}
	defer resp.Body.Close()
	all := map[string]float64{}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if n, err := strconv.ParseFloat(value, 64); err == nil {
			all[name] = n
		}
	}
	if err := lines.Err(); err != nil {
		p.t.Fatal(err)
	}
	return all
}

// rest waits until the records say that nothing is left to do but what people do: nothing waits to be delivered, no run
// to be worked on. One of the bots at least has to run.
func (w *world) rest() {
	w.t.Helper()
	var left string
	for deadline := time.After(patience); ; {
		if left = w.underWay(); left == "" {
			return
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-deadline:
			w.t.Fatalf("it does not come to rest: %s\n%s", left, w.transcript())
		}
	}
}

// underWay says what is left to do.
func (w *world) underWay() (left string) {
	w.t.Helper()
	st := w.beside()
	defer st.Close()
	err := st.View(w.ctx, func(tx approvals.Tx) error {
		ever := tx.Now().Add(24 * 365 * time.Hour)
		waiting, err := tx.UndeliveredPlaces(ever, ever, 10)
		if err != nil {
			return err
		}
		runs, err := tx.LapsedLeases(ever, ever, 10)
		if len(waiting)+len(runs) > 0 {
			left = fmt.Sprintf("runs %v, notifications for %v", runs, waiting)
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return left
}

// beside opens the store while bots run: a copy of their file, or the database.
func (w *world) beside() approvals.Store {
	w.t.Helper()
	at := w.store
	if at == "" {
		client, err := control.Dial(w.ctx, filepath.Join(w.dir, "countersign.db"))
		if err != nil {
			w.t.Fatal(err)
		}
		defer client.Close()
		file, err := os.Create(filepath.Join(w.t.TempDir(), "copy.db"))
		if err != nil {
			w.t.Fatal(err)
		}
		defer file.Close()
		if err := client.Backup(w.ctx, file); err != nil {
			w.t.Fatal(err)
		}
		at = "bolt:" + file.Name()
	}
	return w.openAt(at, true)
}

// round has people ask for so many payments at once, which others approve, and returns the threads.
func (w *world) round(threads int) (all []string) {
	w.t.Helper()
	for i := range threads {
		all = append(all, w.mention(fmt.Sprint("pay 1", i)))
	}
	for _, thread := range all {
		w.press(w.card(thread, 1))
	}
	for _, thread := range all {
		w.answer(thread, "answer:")
		w.oneOfEach(thread, 1)
	}
	return all
}

// measure notes what the bots hold at rest, which they must come back to.
func (w *world) measure(bots ...*process) {
	w.t.Helper()
	w.rest()
	for _, p := range bots {
		p.before = p.numbers()
	}
}

// mayHold is how much more a process may hold after faults than one that has done such work undisturbed: a few
// connections to Slack, the model, the tool and the database, with the two goroutines of each; and where replicas share
// a database what the one of them does for all that leads, ten goroutines.
func (w *world) mayHold() map[string]int {
	if w.store == "" {
		return map[string]int{"go_goroutines": 12, "process_open_fds": 8}
	}
	return map[string]int{"go_goroutines": 24, "process_open_fds": 10}
}

// undisturbed is what a program holds that has done its work, in each mode and on each kind of store.
var undisturbed struct {
	sync.Mutex
	numbers map[string]map[string]float64
}

// resources compares what the bots hold with what they held when somebody looked, or else with what they would hold if
// nothing had broken, once it has come back to that or does not.
func (w *world) resources(bots ...*process) (all []invariant.Resource) {
	w.t.Helper()
	for _, p := range bots {
		for deadline := time.After(patience / 4); ; {
			now, over := w.compared(p)
			if !over {
				all = append(all, now...)
				break
			}
			select {
			case <-time.After(100 * time.Millisecond):
				continue
			case <-deadline:
			}
			all = append(all, now...)
			break
		}
	}
	return all
}

// compared reports whether the process holds more than it may. Of one that has ended there is nothing to compare.
func (w *world) compared(p *process) (all []invariant.Resource, over bool) {
	w.t.Helper()
	now, before := p.numbers(), p.before
	if now == nil {
		return nil, false
	}
	if before == nil {
		before = w.undisturbed()
	}
	may := w.mayHold()
	for _, name := range slices.Sorted(maps.Keys(may)) {
		r := invariant.Resource{Name: name, Before: int(before[name]), After: int(now[name]), Slack: may[name]}
		all, over = append(all, r), over || r.After > r.Before+r.Slack
	}
	return all, over
}

// undisturbed measures a program that is like the test's own, in a world of its own where nothing breaks.
func (w *world) undisturbed() map[string]float64 {
	w.t.Helper()
	s := settings{postgres: w.store != "", http: w.slack.Config().Mode == slackdev.ModeHTTP}
	kind := fmt.Sprint(s.postgres, s.http)
	undisturbed.Lock()
	defer undisturbed.Unlock()
	if undisturbed.numbers[kind] == nil {
		calm := newWorld(w.t, s)
		p := calm.start()
		thread := calm.mention("pay 5")
		calm.mustClick(ben, calm.card(thread, 1), "approve")
		calm.answer(thread, "answer:")
		calm.rest()
		if undisturbed.numbers == nil {
			undisturbed.numbers = map[string]map[string]float64{}
		}
		undisturbed.numbers[kind] = p.numbers()
		p.stop()
	}
	return undisturbed.numbers[kind]
}
