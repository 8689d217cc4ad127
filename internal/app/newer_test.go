package app_test

import (
	"cmp"
	"net/url"
	"strings"
	"testing"

	"countersign/internal/pgdev"
)

// TestRecordOfNewerVersion: a replica that meets a record with a field that it does not know leaves it to others, says
// so below "ready", and goes on with everything else; also with that record, once somebody has written it otherwise.
func TestRecordOfNewerVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{postgres: true})
	w.listen = freeAddress(t)
	w.start("COUNTERSIGN_LISTEN=" + w.listen)
	thread := w.mention("pay 5")
	card := w.card(thread, 1)
	if said := w.readyz(); said != "ready\n" {
		t.Fatalf("control: %q", said)
	}
	records := func(from, to string) {
		t.Helper()
		at, err := url.Parse(w.store)
		if err != nil {
			t.Fatal(err)
		}
		pgdev.Start(t).Exec(t, cmp.Or(strings.Trim(at.Path, "/"), at.Query().Get("dbname")),
			`update countersign.run_records set record =
				convert_to(replace(convert_from(record, 'UTF8'), '`+from+`', '`+to+`'), 'UTF8')`)
	}
	const known, unknown = `{"workspace"`, `{"of_tomorrow":true,"workspace"`
	records(known, unknown)
	_ = w.click(ben, card, "approve")
	const line = "records of a newer version were left to other replicas"
	w.until("readiness to say so", func() bool {
		said := w.readyz() // which fails unless it is 200
		return strings.HasPrefix(said, "ready\n") && strings.Contains(said, line) && strings.Contains(said, "upgrade")
	})
	other := w.mention("pay 6")
	w.mustClick(ben, w.card(other, 1), "approve")
	w.answer(other, "answer:")
	records(unknown, known)
	w.mustClick(ben, card, "approve")
	w.answer(thread, "answer:")
	w.verified()
}
