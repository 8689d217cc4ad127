package pgstore

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// waitingAs are those who wait: p a person, w somebody at work, a capital letter somebody who needs a transaction
// alone.
func waitingAs(q *queue, who string) {
	for _, c := range strings.Split(who, "") {
		lower := strings.ToLower(c)
		q.waiting = append(q.waiting, &member{work: lower == "w", alone: lower != c, since: q.turns})
	}
}

func (m *member) letter() string {
	c := "p"
	if m.work {
		c = "w"
	}
	if m.alone {
		c = strings.ToUpper(c)
	}
	return c
}

// taken has the queue give turns until nobody waits, and returns who had each.
func taken(q *queue) string {
	var turns []string
	for len(q.waiting) > 0 {
		turn := ""
		for _, m := range q.take() {
			turn += m.letter()
		}
		turns = append(turns, turn)
	}
	return strings.Join(turns, " ")
}

// TestTurns: people come first, work has one turn in four while they come, and nobody is passed over for ever.
func TestTurns(t *testing.T) {
	t.Parallel()
	many := func(who string, n int) string { return strings.Repeat(who, n) }
	for _, c := range []struct{ waiting, want string }{
		{"p", "p"},
		{"wp", "pw"},
		{"Wp", "p W"},
		{"pPp", "pp P"},
		{"Pp", "P p"},
		{many("w", 20) + "p", "p" + many("w", 15) + " " + many("w", 5)},
		{many("p", 20), many("p", 16) + " " + many("p", 4)},
		{many("p", 40) + many("w", 9), many("p", 16) + " " + many("p", 16) + " " + many("p", 8) + many("w", 8) + " w"},
		{many("w", 60) + many("p", 90), strings.Repeat(many("p", 16)+" ", 3) + many("w", 16) + " " + many("p", 16) +
			" " + many("p", 16) + " " + many("p", 10) + many("w", 6) + " " + many("w", 16) + " " + many("w", 16) +
			" " + many("w", 6)},
		{many("w", 9) + many("p", 60), many("p", 16) + " " + many("p", 16) + " " + many("p", 16) + " " + many("w", 9) +
			many("p", 7) + " " + many("p", 5)},
		{many("p", 90) + "w", strings.Repeat(many("p", 16)+" ", 3) + "w" + many("p", 15) + " " + many("p", 16) + " " +
			many("p", 11)},
		{"WW" + many("p", 90), strings.Repeat(strings.Repeat(many("p", 16)+" ", 3)+"W ", 1) + many("p", 16) + " " +
			many("p", 16) + " " + many("p", 10) + " W"},
		{"W" + many("p", 90), many("p", 16) + " " + many("p", 16) + " " + many("p", 16) + " W " + many("p", 16) + " " +
			many("p", 16) + " " + many("p", 10)},
	} {
		q := queueBeside(1)
		waitingAs(q, c.waiting)
		if got := taken(q); got != c.want {
			t.Errorf("of %s: %s, want %s", c.waiting, got, c.want)
		}
	}
	// Where nobody else writes, more share a transaction.
	alone := queueBeside(0)
	waitingAs(alone, many("p", 40)+many("w", 9))
	if got, want := taken(alone), many("p", 30)+" "+many("p", 10)+many("w", 9); got != want {
		t.Errorf("without other replicas: %s, want %s", got, want)
	}
}

// queueBeside returns a queue of a store that so many others write to.
func queueBeside(others int64) *queue {
	q := &queue{store: new(Store)}
	q.store.others.Store(others)
	return q
}

// TestTurnsEnd: whoever waits has a turn in the end, also where others come all the time, and each has one.
func TestTurnsEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		q := queueBeside(rapid.Int64Range(0, 1).Draw(r, "other replicas"))
		most := together
		if q.store.others.Load() == 0 {
			most = togetherAlone
		}
		kinds := rapid.SampledFrom([]string{"p", "w", "P", "W"})
		waitingAs(q, rapid.StringOfN(rapid.RuneFrom([]rune("pwPW")), 1, 60, -1).Draw(r, "before"))
		before := q.waiting[len(q.waiting)-1]
		waits := len(q.waiting)
		had := map[*member]bool{}
		for turn := 0; !had[before]; turn++ {
			if turn > 4*waits+4 {
				r.Fatalf("%s has waited for %d turns behind %d", before.letter(), turn, waits)
			}
			for range rapid.IntRange(0, 20).Draw(r, "come") {
				waitingAs(q, kinds.Draw(r, "who"))
			}
			taken := q.take()
			if len(taken) == 0 || len(taken) > most {
				r.Fatalf("%d had a turn", len(taken))
			}
			for _, m := range taken {
				if had[m] || m.alone && len(taken) > 1 {
					r.Fatal(fmt.Sprint("twice, or not alone: ", m.letter()))
				}
				had[m] = true
			}
		}
	})
}
