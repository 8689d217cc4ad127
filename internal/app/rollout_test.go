package app_test

import (
	"cmp"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"countersign/internal/pgdev"
)

// TestRolloutOfPrograms replaces two replicas of one version by two of the next, which are programs of their own, built
// from the same source but for the number of the format and a field that came with it. People ask and decide all the
// while. The new format is written when the last old one has gone, and the old program does not come back.
func TestRolloutOfPrograms(t *testing.T) {
	if !*long {
		t.Skip("with -long: it builds the program once more")
	}
	t.Parallel()
	next, err := binaries.next()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, settings{postgres: true})
	pays := func() {
		t.Helper()
		thread := w.mention("pay 5")
		w.mustClick(ben, w.card(thread, 1), "approve")
		w.answer(thread, "answer:")
	}
	startNext := func() *process {
		t.Helper()
		p := w.spawn(next, w.env(), "run")
		p.says("msg=ready")
		return p
	}
	at, err := url.Parse(w.store)
	if err != nil {
		t.Fatal(err)
	}
	inDatabase := func(sql string) {
		t.Helper()
		pgdev.Start(t).Exec(t, cmp.Or(strings.Trim(at.Path, "/"), at.Query().Get("dbname")), sql)
	}
	// newest fails the test unless the newest run fulfils the condition.
	newest := func(condition string) {
		t.Helper()
		inDatabase(`select 1 / count(*) from (select convert_from(record, 'UTF8') as record from countersign.run_records
				order by created desc limit 1) as newest where ` + condition)
	}
	const field, raised = `'%"state_message"%'`, "every process that uses the store can read a new format"
	before := w.start()
	pays()
	newest("record like " + field)
	last := w.start()
	if code := before.stop(); code != 0 {
		t.Errorf("an old replica ended with %d", code)
	}
	first := startNext()
	pays()
	thread := w.mention("pay 7") // is asked by one version, and answered by the other
	card := w.card(thread, 1)
	// A process that reads a run with the field, which the old program writes too, takes its format for in force, and
	// says so. Whether it is for all is in the database.
	inDatabase(`select 1 / count(*) from countersign.format where number = 1`)
	if code := last.stop(); code != 0 {
		t.Errorf("the last old replica ended with %d", code)
	}
	second := startNext()
	w.mustClick(ben, card, "approve")
	w.answer(thread, "answer:")
	inDatabase(`do $$ begin
		for i in 1..600 loop -- it takes up to twenty seconds
			if exists (select from countersign.format where number = 2) then
				return;
			end if;
			perform pg_sleep(0.1);
		end loop;
		raise 'the new format is not in force, though every process can read it';
	end $$`)
	first.says(raised)
	pays()
	newest("record like " + field)
	old := w.spawn(binary(t), w.env(), "run")
	if code := old.wait(); code != 2 || !strings.Contains(old.out.String(), "written by a newer version") {
		t.Errorf("the old program ended with %d:\n%s", code, old.out.String())
	}
	for _, p := range []*process{first, second} {
		if code := p.stop(); code != 0 || strings.Contains(p.out.String(), "level=ERROR") {
			t.Errorf("a new replica ended with %d", code)
		}
	}
	cmd := exec.CommandContext(w.ctx, next, "audit", "verify")
	cmd.Dir, cmd.Env = w.dir, w.env()
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "audit: ok") {
		t.Errorf("audit verify: %v\n%s", err, out)
	}
}
