// Command bench measures Countersign against its peers and against what the machine allows, in one run, and prints
// ratios. See README.md; bench/run installs the peers and calls it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"countersign/internal/headroom"
)

// options are what every measurement is told.
type options struct {
	quick    bool                        // a fraction of the work: shows that everything runs, not how fast
	peers    string                      // folder of the installed npm peers; empty leaves them out
	goPeers  string                      // program with the peers in Go; empty leaves them out
	program  string                      // the program that people run
	postgres string                      // URL of a PostgreSQL database to measure on; empty: on a private server
	store    string                      // URL of the program's store; empty: a file of its own
	plot     string                      // file for the plot of replicas-postgres; empty: none is drawn
	settle   func(context.Context) error // makes the store ready; nil: it is
	dir      string                      // scratch folder
}

// settled has the store ready for a measurement.
func (o options) settled(ctx context.Context) error {
	if o.settle == nil {
		return nil
	}
	return o.settle(ctx)
}

// scale returns full, or a small share of it in a quick run.
func (o options) scale(full, quick int) int {
	if o.quick {
		return quick
	}
	return full
}

var measurements = []struct {
	name, about string
	run         func(context.Context, options) error
}{
	{"state", "RunState encode and decode against conversation length", benchState},
	{"checkpoint", "bytes written per item by turn checkpoints, against the length of the run", benchCheckpoint},
	{"cycle", "run, interrupt, save, load, approve, resume, answer", benchCycle},
	{"plain", "a run that nobody is asked about: two model calls, one tool call", benchPlain},
	{"decide", "durable decisions against raw bbolt commits", benchDecide},
	{"decide-postgres", "durable decisions on PostgreSQL against raw inserts, with one to three replicas",
		benchDecidePostgres},
	{"replicas-postgres", "the same with one to four replicas, and a plot of it", benchReplicasPostgres},
	{"service", "the whole service: submit, pause, decide, resume, answer", benchService},
	{"service-postgres", "the same on PostgreSQL", benchServicePostgres},
	{"click", "click to acknowledgement over signed HTTP, with 15,000 requests pending", benchClick},
	{"click-postgres", "the same on PostgreSQL", onPostgres(benchClick)},
	{"drain", "click to acknowledgement while 1,000 mentions wait for Slack's limits, with 10,000 requests pending",
		benchDrain},
	{"crowd", "the same, and each mention is of somebody else", benchCrowd},
	{"drain-postgres", "the same on PostgreSQL", onPostgres(benchDrain)},
	{"start", "start of the program and the list of pending requests, against what was ever decided", benchStart},
	{"start-postgres", "the same on PostgreSQL", onPostgres(benchStart)},
	{"trail", "verify, export and report on an audit trail of a million entries", benchTrail},
	{"memory", "start, idle memory, memory per pending request", benchMemory},
	{"memory-postgres", "the same on PostgreSQL", onPostgres(benchMemory)},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) > 0 && args[0] == "serve":
		return serve(ctx)
	case len(args) > 0 && args[0] == "alone":
		return alone(ctx, args[1:])
	case len(args) > 0 && args[0] == "decider":
		return decide(ctx, args[1:])
	}
	defer headroom.Keep()() // as the program does, whose parts are measured here
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.BoolVar(&o.quick, "quick", false, "a fraction of the work")
	flags.StringVar(&o.peers, "peers", "", "folder with the installed npm peers")
	flags.StringVar(&o.program, "program", "", "countersign, built as it is delivered")
	flags.StringVar(&o.postgres, "postgres", "", "URL of a PostgreSQL database; a private server when empty")
	flags.StringVar(&o.plot, "plot", "", "file for the plot that replicas-postgres draws")
	flags.StringVar(&o.goPeers, "gopeers", "", "program with the peers in Go, built from peers/go")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: bench [flags] [measurement...]")
		for _, m := range measurements {
			fmt.Fprintf(flags.Output(), "  %-17s %s\n", m.name, m.about)
		}
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	var err error
	if o.dir, err = os.MkdirTemp("", "countersign-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(o.dir)
	wanted := strings.Join(flags.Args(), " ")
	for _, m := range measurements {
		if wanted != "" && !strings.Contains(" "+wanted+" ", " "+m.name+" ") {
			continue
		}
		fmt.Printf("\n## %s: %s\n\n", m.name, m.about)
		if err := m.run(ctx, o); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}
