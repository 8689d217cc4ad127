package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"countersign/agent"
	"countersign/agent/openaimodel"
	"countersign/approvals"
	"countersign/internal/headroom"
	"countersign/internal/pgdev"
	"countersign/store/pgstore"
)

// server returns the URL of a PostgreSQL database to measure on: the one that is named, or one on a private server,
// which waits for the disk like one in earnest, with the predicate locks that docs/postgresql.md advises.
func (o options) server() (url string, stop func(), err error) {
	if o.postgres != "" {
		return o.postgres, func() {}, nil
	}
	s, err := pgdev.NewServer(pgdev.Options{Durable: true, Settings: map[string]string{
		"shared_buffers": "256MB", "max_pred_locks_per_page": "32",
	}})
	if err != nil {
		return "", nil, err
	}
	return s.URL("postgres"), s.Remove, nil
}

// inSchema is the URL of a store of its own in the database.
func inSchema(url string) string {
	sign := "?"
	if strings.Contains(url, "?") {
		sign = "&"
	}
	return url + sign + "schema=bench_" + strconv.FormatUint(rand.Uint64(), 36)
}

// onPostgres is the measurement of a program whose store is in PostgreSQL.
func onPostgres(measure func(context.Context, options) error) func(context.Context, options) error {
	return func(ctx context.Context, o options) error {
		url, stop, err := o.server()
		if errors.Is(err, pgdev.ErrAbsent) {
			fmt.Println("SKIPPED:", err)
			return nil
		}
		if err != nil {
			return err
		}
		defer stop()
		o.store = inSchema(url)
		if o.postgres == "" {
			o.settle = func(ctx context.Context) error { return checkpoint(ctx, url) }
		}
		return measure(ctx, o)
	}
}

// checkpoint leaves the server what one has that runs for longer: WAL files to write on. A new one makes each of them,
// 16 MB of zeros and a sync, within somebody's commit. What follows writes each page whole once, as after any
// checkpoint.
func checkpoint(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, "checkpoint")
	return err
}

// databaseSize is how many bytes the database of a store takes on the disk.
func databaseSize(ctx context.Context, store string) (n int64, err error) {
	cfg, err := pgx.ParseConfig(store)
	if err != nil {
		return 0, err
	}
	delete(cfg.RuntimeParams, "schema") // the store's own parameter
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return 0, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	err = conn.QueryRow(ctx, "select pg_database_size(current_database())").Scan(&n)
	return n, err
}

// benchDecidePostgres compares complete decisions on PostgreSQL with the barest durable write there is, one row
// inserted and committed over the same number of connections, and adds replicas.
func benchDecidePostgres(ctx context.Context, o options) error {
	url, stop, err := o.server()
	if errors.Is(err, pgdev.ErrAbsent) {
		fmt.Println("SKIPPED:", err)
		return nil
	}
	if err != nil {
		return err
	}
	defer stop()
	fmt.Print("| replicas | at once | working | decisions/s | p50 ms | p99 ms | raw inserts/s | share | " +
		"processor ms, ours + server's | of a raw insert | share |\n|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, c := range []struct {
		replicas, width int
		working         bool
	}{
		{1, 1, false}, {1, 16, false}, {1, 32, false}, {1, 64, false}, {2, 64, false}, {3, 64, false},
		{1, 64, true}, {2, 64, true}, {3, 64, true},
	} {
		total := o.scale(400*min(c.width, 16), 4*c.width)
		ours, err := replicasDecide(ctx, url, c.replicas, total, c.width, c.working, nil)
		if err != nil {
			return err
		}
		raw, err := rawInserts(ctx, url, total, c.width)
		if err != nil {
			return err
		}
		mine, bare := 1000/ours.PerCPUSecond, 1000/raw.PerCPUSecond
		fmt.Printf("| %d | %d | %v | %.0f | %.2f | %.2f | %.0f | %.0f %% | %.2f + %.2f | %.2f + %.2f | %.0f %% |\n",
			c.replicas, c.width, c.working, ours.PerSecond, ours.P50, ours.P99, raw.PerSecond,
			100*ours.PerSecond/raw.PerSecond, mine, ms(ours.server), bare, ms(raw.server),
			100*(bare+ms(raw.server))/(mine+ms(ours.server)))
	}
	fmt.Println()
	return nil
}

// benchServicePostgres measures whole runs as benchService does, on PostgreSQL, beside the same on the file and what
// the driver takes for as many transactions.
func benchServicePostgres(ctx context.Context, o options) error {
	url, stop, err := o.server()
	if errors.Is(err, pgdev.ErrAbsent) {
		fmt.Println("SKIPPED:", err)
		return nil
	}
	if err != nil {
		return err
	}
	defer stop()
	model, ended, err := startServer(ctx)
	if err != nil {
		return err
	}
	defer ended()
	var all []Figures
	var said strings.Builder
	for n := range o.scale(3, 1) {
		var effects atomic.Int64
		a, err := benchAgent(model, openaimodel.Responses, &effects)
		if err != nil {
			return err
		}
		a.Tools[0].NeedsApproval = agent.AlwaysAsk
		st, err := pgstore.Open(ctx, inSchema(url), pgstore.Config{})
		if err != nil {
			return err
		}
		rig, err := rigOn(st, a)
		if err != nil {
			st.Close()
			return err
		}
		const width = 16
		total := o.scale(1000, 64)
		var f Figures
		c, server, err := counting(ctx, url, func() (err error) {
			f, err = rig.runs(ctx, total, width, &effects)
			return err
		})
		if err != nil {
			return err
		}
		all = append(all, f)
		runs := float64(total + min(2*width, 64)) // those before the figures begin are counted, too
		each := int(math.Round(c.commits / runs))
		var bare Figures
		_, bareServer, err := counting(ctx, url, func() (err error) {
			bare, err = bareTransactions(ctx, url, each, total, width)
			return err
		})
		if err != nil {
			return err
		}
		file, err := serviceRuns(ctx, model, filepath.Join(o.dir, fmt.Sprint("beside-", n)), total, width)
		if err != nil {
			return err
		}
		fmt.Fprintf(&said, "A run: processor ms %.1f of ours + %.1f of the server's; %.1f transactions, "+
			"%.3f rolled back; %.0f kB of WAL. On the file %.1f; %d bare transactions of %d statements %.1f + %.1f.\n",
			1000/f.PerCPUSecond, ms(server)/runs, c.commits/runs, c.rollbacks/runs, c.wal/runs/1000,
			1000/file.PerCPUSecond, each, bareStatements, 1000/bare.PerCPUSecond, ms(bareServer)/runs)
	}
	printFigures("16 at once", all)
	fmt.Println()
	fmt.Print(said.String())
	return nil
}

// counting counts what the server does during fn, which closes its connections: then they have told it all.
func counting(ctx context.Context, url string, fn func() error) (c serverCounts, cpu time.Duration, err error) {
	before, err := countedBy(ctx, url)
	if err != nil {
		return c, 0, err
	}
	start, err := serverCPU(ctx, url)
	if err != nil {
		return c, 0, err
	}
	if err := fn(); err != nil {
		return c, 0, err
	}
	end, err := serverCPU(ctx, url)
	if err != nil {
		return c, 0, err
	}
	after, err := countedBy(ctx, url)
	return serverCounts{after.commits - before.commits, after.rollbacks - before.rollbacks, after.wal - before.wal},
		end - start, err
}

// replicasDecide has that many processes decide requests, width at once in all.
func replicasDecide(
	ctx context.Context, server string, replicas, total, width int, working bool, counted *serverCounts,
) (serverFigures, error) {
	url := inSchema(server)
	st, err := pgstore.Open(ctx, url, pgstore.Config{})
	if err != nil {
		return serverFigures{}, err
	}
	rig, err := rigOn(st, nil)
	each, per := total/replicas, max(width/replicas, 1)
	if err == nil {
		rig.timers = true
		_, err = rig.seed(ctx, replicas*(each+min(2*per, 64)), benchRequirement)
	}
	st.Close() // it would count as one more replica
	if err != nil {
		return serverFigures{}, err
	}
	var children []*decider
	defer func() {
		for _, c := range children {
			c.end()
		}
	}()
	for n := range replicas {
		c, err := startDecider(ctx, url, n, replicas, each, per, working)
		if err != nil {
			return serverFigures{}, err
		}
		children = append(children, c)
	}
	var beforehand serverCounts
	if counted != nil {
		time.Sleep(2 * time.Second) // until the server knows what its processes have done
		if beforehand, err = countedBy(ctx, server); err != nil {
			return serverFigures{}, err
		}
	}
	before, err := serverCPU(ctx, server)
	if err != nil {
		return serverFigures{}, err
	}
	for _, c := range children {
		c.begin()
	}
	var all serverFigures
	var used float64
	for _, c := range children {
		f, err := c.figures()
		if err != nil {
			return serverFigures{}, err
		}
		all.PerSecond += f.PerSecond
		used += float64(each) / f.PerCPUSecond
		all.P50, all.P99 = max(all.P50, f.P50), max(all.P99, f.P99)
	}
	after, err := serverCPU(ctx, server)
	if counted != nil && err == nil {
		time.Sleep(2 * time.Second)
		*counted, err = countedBy(ctx, server)
		counted.commits -= beforehand.commits
		counted.rollbacks -= beforehand.rollbacks
		counted.wal -= beforehand.wal
	}
	all.PerCPUSecond = float64(replicas*each) / used
	all.server = (after - before) / time.Duration(replicas*(each+min(2*per, 64)))
	return all, err
}

// serverFigures are figures with the processor time that the server took for each.
type serverFigures struct {
	Figures
	server time.Duration
}

// decider is a replica in a process of its own.
type decider struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startDecider(
	ctx context.Context, url string, n, replicas, total, width int, working bool,
) (*decider, error) {
	cmd := exec.CommandContext(ctx, os.Args[0], "decider", strconv.Itoa(n), strconv.Itoa(replicas),
		strconv.Itoa(total), strconv.Itoa(width), strconv.FormatBool(working))
	cmd.Env = append(os.Environ(), "BENCH_POSTGRES="+url)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	d := &decider{cmd, in, bufio.NewReader(out)}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	_, err = d.out.ReadString('\n') // it is ready
	return d, err
}

func (d *decider) begin() { io.WriteString(d.in, "begin\n") }

func (d *decider) figures() (f Figures, err error) { return f, json.NewDecoder(d.out).Decode(&f) }

func (d *decider) end() {
	d.in.Close()
	d.cmd.Wait()
}

// decide is what a decider does: the requests whose number, divided by the number of replicas, leaves its own.
func decide(ctx context.Context, args []string) error {
	defer headroom.Keep()()
	var numbers [4]int
	for i := range numbers {
		var err error
		if numbers[i], err = strconv.Atoi(args[i]); err != nil {
			return err
		}
	}
	n, replicas, total, width := numbers[0], numbers[1], numbers[2], numbers[3]
	st, err := pgstore.Open(ctx, os.Getenv("BENCH_POSTGRES"), pgstore.Config{})
	if err != nil {
		return err
	}
	defer st.Close()
	rig, err := rigOn(st, nil)
	if err != nil {
		return err
	}
	var mine []*approvals.RequestHead
	q := approvals.RequestQuery{Workspace: benchWorkspace, Status: approvals.RequestPending, Limit: 1000}
	for i := 0; ; {
		var page []*approvals.RequestHead
		var next approvals.RequestID
		err := st.View(ctx, func(tx approvals.Tx) (err error) {
			page, next, err = tx.QueryRequests(q)
			return err
		})
		if err != nil {
			return err
		}
		for _, r := range page {
			if i%replicas == n {
				mine = append(mine, r)
			}
			i++
		}
		if q.After = next; next == "" {
			break
		}
	}
	working, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	if args[4] == "true" {
		go func() {
			done <- st.Dispatch(working, func(context.Context, approvals.Job) error { return nil })
		}()
	} else {
		done <- nil
	}
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadString('\n')
	var next atomic.Int64
	f, err := measure(ctx, "Service.Decide", total, width, func(ctx context.Context, _ int) error {
		r := mine[next.Add(1)-1]
		_, err := rig.service.Decide(ctx, approvals.Decision{
			Workspace: benchWorkspace, Request: r.ID, By: benchApprover, Verdict: approvals.Approve,
			Digest: r.Digest, Via: "button",
		})
		return err
	})
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(f)
	}
	stop()
	return errors.Join(err, <-done)
}

// storeConns is how many connections a store has for clicks, unless the URL says otherwise.
const storeConns = 8

// rawInserts inserts and commits a row of a kilobyte each, over as many connections as a store has for clicks.
func rawInserts(ctx context.Context, url string, total, width int) (serverFigures, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return serverFigures{}, err
	}
	if !strings.Contains(url, "pool_max_conns") {
		cfg.MaxConns = storeConns
	}
	db, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return serverFigures{}, err
	}
	defer db.Close()
	table := "raw_" + strconv.FormatInt(time.Now().UnixNano(), 36)
	if _, err := db.Exec(ctx, "create table "+table+" (id bigint primary key, value bytea not null)"); err != nil {
		return serverFigures{}, err
	}
	value := make([]byte, 1024)
	before, err := serverCPU(ctx, url)
	if err != nil {
		return serverFigures{}, err
	}
	f, err := measure(ctx, "insert and commit", total, width, func(ctx context.Context, i int) error {
		_, err := db.Exec(ctx, "insert into "+table+" values ($1, $2)", i, value)
		return err
	})
	if err != nil {
		return serverFigures{}, err
	}
	after, err := serverCPU(ctx, url)
	return serverFigures{f, (after - before) / time.Duration(total+min(2*width, 64))}, err
}
