package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"countersign/internal/app"
	"countersign/internal/visible"
	"countersign/store"
)

// storeReport is what check says of the store.
type storeReport struct {
	Place string `json:"place"`
	// Says and Warnings are sentences.
	Says     []string `json:"says,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// of a database
	Server       string   `json:"server,omitempty"`
	Schema       int      `json:"schema_version,omitempty"`
	Needs        int      `json:"schema_needs,omitempty"`
	Processes    *int     `json:"processes,omitempty"`
	ClockSeconds *float64 `json:"clock_ahead_seconds,omitempty"`

	found *store.Examination
}

// checkPatience is how long a database may take to answer.
const checkPatience = 10 * time.Second

// tooFar is how far the database's clock and this machine's may be apart before check warns.
const tooFar = time.Second

// examineStore asks the store's database, or looks at its file.
func examineStore(ctx context.Context, p *Program, cfg *app.Config) (*storeReport, error) {
	rep := &storeReport{Place: cfg.StorePlace().String()}
	if !cfg.StorePlace().Shared() {
		return rep, rep.examineFile(ctx, p, cfg)
	}
	ctx, cancel := context.WithTimeout(ctx, checkPatience)
	defer cancel()
	e, err := store.Examine(ctx, cfg.Store.Reveal())
	switch {
	case errors.Is(err, store.ErrStandby), errors.Is(err, store.ErrTakesNoWrites):
		return nil, app.Misconfigured(fmt.Errorf("COUNTERSIGN_STORE: %w", err))
	case store.Waits(err):
		return nil, fmt.Errorf("%w; \"countersign check --offline\" checks all else", app.ExplainStore(err))
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%w; look at the database's server; \"countersign check --offline\" checks all else",
			app.ExplainStore(err))
	case err != nil:
		return nil, app.ExplainStore(err)
	}
	rep.Server, rep.Schema, rep.Needs, rep.Processes = e.Server, e.Version, e.Needs, &e.Processes
	ahead := e.Ahead.Seconds()
	rep.ClockSeconds = &ahead
	rep.Says, rep.Warnings = saysOf(e), warningsOf(e)
	rep.found = e
	return rep, nil
}

// examineFile opens the file for reading, as a start would, and says what that would find. Nothing is changed.
func (s *storeReport) examineFile(ctx context.Context, p *Program, cfg *app.Config) error {
	keys, err := cfg.Keys()
	if err == nil {
		err = store.CheckPlace(cfg.StorePlace())
	}
	if err != nil {
		return app.ExplainStore(err)
	}
	encrypted := "is not encrypted"
	if keys != nil {
		encrypted = "is encrypted"
	}
	says := "the file has the format of this program, and " + encrypted
	st, err := store.Open(ctx, cfg.Store.Reveal(), store.Config{
		ReadOnly: true, Keys: keys, Logger: cfg.Logger(p.Stderr),
	})
	switch {
	case err == nil:
		err = st.Close()
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, store.ErrEmpty):
		says, err = "the file is not there yet: the first start makes it", nil
		if keys != nil {
			says += ", encrypted"
		}
	case errors.Is(err, store.ErrOlder):
		says, err = "the file is of an earlier version: the next start brings it to the format of this one", nil
	case errors.Is(err, store.ErrInUse):
		says, err = "a process has it open, such as the bot: neither the file nor its keys were looked at", nil
	}
	s.Says = []string{says}
	return app.ExplainStore(err)
}

// checkKeys says where a start would be refused for the keys that are given, or for none.
func (s *storeReport) checkKeys(cfg *app.Config) error {
	keys, err := cfg.Keys()
	switch made := s.found != nil && s.found.Version > 0; {
	case err != nil || !made:
	case s.found.Encrypted && keys == nil:
		err = fmt.Errorf("%s: %w: none is set", s.Place, store.ErrKeys)
	case s.found.Encrypted:
		err = s.found.Opens(keys)
	case keys != nil:
		err = fmt.Errorf("%s: %w, although keys are given: copy it into a schema that is made with them "+
			"(countersign migrate)", s.Place, store.ErrPlain)
	}
	return app.ExplainStore(err)
}

// saysOf tells in sentences what was found.
func saysOf(e *store.Examination) (says []string) {
	says = append(says, fmt.Sprintf("PostgreSQL %s answers in %s", visible.Line(e.Server),
		e.RoundTrip.Round(10*time.Microsecond)))
	switch {
	case e.Version == 0:
		says = append(says, "the schema is not there yet: the first start makes it")
	case e.Version < e.Needs:
		says = append(says,
			fmt.Sprintf("the schema has version %d: the next start brings it to %d", e.Version, e.Needs))
	default:
		says = append(says, fmt.Sprintf("the schema has version %d, as this program needs", e.Version))
	}
	if e.Version > 0 {
		says = append(says, "processes that have it open: "+fmt.Sprint(e.Processes))
	}
	kept := fmt.Sprintf("a commit waits for its disk (synchronous_commit=%s)", visible.Line(e.SynchronousCommit))
	if e.Synchronous > 0 && e.SynchronousCommit != "local" {
		kept = fmt.Sprintf("a commit waits for its disk and a standby (synchronous_commit=%s)",
			visible.Line(e.SynchronousCommit))
	}
	return append(says, kept, "its clock is "+apart(e.Ahead, e.RoundTrip)+" this machine's")
}

// apart says how two clocks go; what is less than half of a round trip cannot be told.
func apart(ahead, trip time.Duration) string {
	off := ahead.Abs()
	switch {
	case off <= max(trip/2, time.Millisecond):
		return "as"
	case ahead > 0:
		return off.Round(time.Millisecond).String() + " ahead of"
	}
	return off.Round(time.Millisecond).String() + " behind"
}

// warningsOf tells in sentences what an operator should mend.
func warningsOf(e *store.Examination) (warn []string) {
	if !e.Fsync || !e.FullPageWrites {
		warn = append(warn, "fsync or full_page_writes is off: a power cut loses what was acknowledged; set both to on")
	}
	if e.Asynchronous > 0 && (e.Synchronous == 0 || e.SynchronousCommit == "local") {
		warn = append(warn, "all of its replicas are asynchronous: a failover to one loses the last decisions; "+
			"name one in synchronous_standby_names")
	}
	if e.Ahead.Abs() > tooFar+e.RoundTrip {
		warn = append(warn, "its clock and this machine's differ: the database's counts for deadlines, this one's for "+
			"requests of Slack, which refuses more than five minutes; have both follow the same time server")
	}
	return warn
}

// print prints a line, and one for each sentence.
func (s *storeReport) print(w io.Writer) {
	if s == nil {
		fmt.Fprintln(w, "store       not asked")
		return
	}
	fmt.Fprintf(w, "store       %s\n", visible.Line(s.Place))
	for _, sentence := range s.Says {
		fmt.Fprintf(w, "            %s\n", strings.TrimSpace(sentence))
	}
	for _, sentence := range s.Warnings {
		fmt.Fprintf(w, "            WARNING: %s\n", sentence)
	}
}
