package app_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"countersign/internal/pgdev"
)

var soak = flag.Duration("soak", 0, "for how long TestSoak loads the program, for instance 20m; set -timeout longer")

// TestSoak loads the program for a long time, beside a file and on a database, and looks at what it holds: memory,
// goroutines and file descriptors stay what they were after a quarter of the time. On the database it then counts what
// a replica asks that has nothing to do. It takes no part in any other run of the tests:
//
//	go test ./internal/app -run TestSoak -soak 20m -timeout 1h -v
func TestSoak(t *testing.T) {
	if *soak == 0 {
		t.Skip("with -soak 20m: it takes as long as that says")
	}
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		fileOnly(t, "the other part of it has a database")
		newSoaked(t, false).run(*soak)
	})
	t.Run("database", func(t *testing.T) {
		t.Parallel()
		s := newSoaked(t, true)
		s.run(*soak)
		s.idle(30 * time.Second)
	})
}

// soaked is a program under load, and what it held at each look.
type soaked struct {
	*world
	bot    *process
	server *pgdev.Cluster // nil: the store is a file
	looks  map[string][]float64
}

// What is looked at, and by how much it may have grown at the end: by a share of it, and by so much more.
var soakLimits = map[string]struct{ share, more float64 }{
	"go_goroutines":                {0, 10},
	"process_open_fds":             {0, 5},
	"go_memstats_heap_inuse_bytes": {.1, 8 << 20},
	"RssAnon":                      {.1, 16 << 20}, // without the pages of the store's file
}

func newSoaked(t *testing.T, database bool) *soaked {
	t.Helper()
	s := &soaked{looks: map[string][]float64{}}
	w := newWorld(t, settings{})
	if database {
		s.server = pgdev.Own(t, pgdev.Options{Durable: true, Settings: map[string]string{
			"shared_preload_libraries": "pg_stat_statements",
		}})
		s.server.Exec(t, "postgres", "create extension pg_stat_statements")
		w.store = s.server.Database(t)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2**soak+5*patience)
	t.Cleanup(cancel)
	w.ctx, w.listen = ctx, freeAddress(t)
	s.world, s.bot = w, w.start("COUNTERSIGN_LOG_LEVEL=info")
	return s
}

// run loads the program, and compares what it holds in the first third of the looks with the last.
func (s *soaked) run(d time.Duration) {
	s.t.Helper()
	began, cycles := time.Now(), 0
	warm, every := d/4, d/90
	for next := warm; time.Since(began) < d; cycles++ {
		s.cycle(cycles)
		if time.Since(began) >= next {
			s.look()
			next += every
		}
	}
	s.t.Logf("%d cycles of mention, card, click and answer in %s", cycles, d)
	for name, limit := range soakLimits {
		all := s.looks[name]
		third := len(all) / 3
		if third < 5 {
			s.t.Fatalf("only %d looks at %s", len(all), name)
		}
		first, last := median(all[:third]), median(all[len(all)-third:])
		s.t.Logf("%-30s first %14.0f  last %14.0f  most %14.0f  (%d looks)", name, first, last, slices.Max(all),
			len(all))
		if last > first*(1+limit.share)+limit.more {
			s.t.Errorf("%s grows: %v", name, all)
		}
	}
}

// cycle has a person ask for a call, and another answer.
func (s *soaked) cycle(n int) {
	s.t.Helper()
	thread := s.mention("pay 5")
	card := s.card(thread, 1)
	if n%3 == 0 {
		s.clickAgain(ben, card, "reject")
	} else {
		s.clickAgain(ben, card, "approve")
	}
	s.answer(thread, "answer:")
	for len(s.effects.came) > 0 { // else it fills, and holds the next call up
		<-s.effects.came
	}
}

// look notes what the program holds.
func (s *soaked) look() {
	s.t.Helper()
	resp, err := http.Get("http://" + s.listen + "/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if _, wanted := soakLimits[name]; wanted {
			s.note(name, value, 1)
		}
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.bot.cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "RssAnon:" {
			s.note("RssAnon", f[1], 1<<10)
		}
	}
}

func (s *soaked) note(name, value string, unit float64) {
	s.t.Helper()
	n, err := strconv.ParseFloat(value, 64)
	if err != nil {
		s.t.Fatalf("%s %s: %v", name, value, err)
	}
	s.looks[name] = append(s.looks[name], n*unit)
}

// idle counts the statements that the server carries out while the program has nothing to do.
func (s *soaked) idle(d time.Duration) {
	s.t.Helper()
	time.Sleep(45 * time.Second) // what was left is done
	conn, err := pgx.Connect(s.ctx, s.server.URL("postgres"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close(s.ctx)
	if _, err := conn.Exec(s.ctx, "select pg_stat_statements_reset()"); err != nil {
		s.t.Fatal(err)
	}
	time.Sleep(d)
	rows, err := conn.Query(s.ctx, "select calls, left(query, 100) from pg_stat_statements order by calls desc")
	if err != nil {
		s.t.Fatal(err)
	}
	var sum, calls int
	var query string
	var all []string
	if _, err := pgx.ForEachRow(rows, []any{&calls, &query}, func() error {
		sum += calls
		all = append(all, fmt.Sprintf("%4d %s", calls, strings.Join(strings.Fields(query), " ")))
		return nil
	}); err != nil {
		s.t.Fatal(err)
	}
	each := float64(sum) / d.Seconds()
	s.t.Logf("an idle replica of the whole program asks %.2f queries a second", each)
	if each >= 5 {
		s.t.Errorf("want fewer than 5. In %v:\n%s", d, strings.Join(all, "\n"))
	}
}

func median(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}
