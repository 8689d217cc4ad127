package app_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"countersign/internal/pgdev"
)

// TestAlertOfASilentDatabase: nothing is heard of the database any more, and a replica that nobody uses meanwhile tries
// again more often than the alert CountersignDatabaseAway lets pass.
func TestAlertOfASilentDatabase(t *testing.T) {
	if !*long {
		t.Skip("with -long: it waits for connections that cannot be made")
	}
	t.Parallel()
	rules, err := os.ReadFile(filepath.Join("..", "..", "deploy", "prometheus", "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	number := func(form, text string) float64 {
		m := regexp.MustCompile(form).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("no %s in:\n%s", form, text)
		}
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	most := number(`alert: CountersignDatabaseAway.*\n +expr: .*\[2m\]\)\) > ([\d.]+)\n`, string(rules))
	w := newWorld(t, settings{postgres: true})
	direct := w.store
	p := pgdev.NewProxy(t, pgdev.Start(t).Socket())
	w.store = throughProxy(direct, p)
	numbers := freeAddress(t)
	w.start("COUNTERSIGN_METRICS_LISTEN=" + numbers)
	retries := func() float64 {
		_, body := get(t, numbers, "/metrics")
		return number(`countersign_store_retries_total\{why="server"\} (\d+)`, body)
	}
	p.Silent.Store(true)
	time.Sleep(15 * time.Second) // until those who wait are in step
	before, since := retries(), time.Now()
	time.Sleep(28 * time.Second)
	if rate := (retries() - before) / time.Since(since).Seconds(); rate <= most {
		t.Errorf("%.2f tries a second, the alert is for more than %g", rate, most)
	} else {
		t.Logf("%.2f tries a second", rate)
	}
	p.Silent.Store(false)
	w.store = direct
}
