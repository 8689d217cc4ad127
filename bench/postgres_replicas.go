package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"countersign/internal/pgdev"
)

// mostReplicas is how many processes decide side by side at most.
const mostReplicas = 4

// replicaFigures are what one number of replicas reached, medians of the rounds.
type replicaFigures struct {
	replicas int
	ours     serverFigures
	raw      float64 // rows inserted and committed per second, right after
	counted  serverCounts
}

// benchReplicasPostgres measures decisions per second with one to four processes on one database, 64 at once in all,
// beside what the same database inserts and commits row by row, and draws both where -plot says.
func benchReplicasPostgres(ctx context.Context, o options) error {
	url, stop, err := o.server()
	if errors.Is(err, pgdev.ErrAbsent) {
		fmt.Println("SKIPPED:", err)
		return nil
	}
	if err != nil {
		return err
	}
	defer stop()
	const width = 64
	total := o.scale(6000, 32*width)
	rounds := make([][]replicaFigures, mostReplicas)
	for range o.scale(3, 1) {
		for i := range rounds { // in turn, so that what else the machine does falls on all of them
			f, err := replicaRound(ctx, url, i+1, total, width)
			if err != nil {
				return err
			}
			rounds[i] = append(rounds[i], f)
		}
	}
	fmt.Print("| replicas | decisions/s | p50 ms | p99 ms | raw inserts/s | share | processor ms, ours + server's | " +
		"transactions | rolled back | WAL bytes |\n|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	var all []replicaFigures
	for _, of := range rounds {
		slices.SortFunc(of, func(a, b replicaFigures) int { return int(a.ours.PerSecond - b.ours.PerSecond) })
		f := of[len(of)/2]
		all = append(all, f)
		n := float64(total)
		fmt.Printf("| %d | %.0f | %.1f | %.1f | %.0f | %.0f %% | %.2f + %.2f | %.2f | %.3f | %.0f |\n", f.replicas,
			f.ours.PerSecond, f.ours.P50, f.ours.P99, f.raw, 100*f.ours.PerSecond/f.raw, 1000/f.ours.PerCPUSecond,
			ms(f.ours.server), f.counted.commits/n, f.counted.rollbacks/n, f.counted.wal/n)
	}
	fmt.Println("\nTransactions, those that the server rolled back, and bytes of WAL are for each decision.")
	if o.plot == "" {
		return nil
	}
	return os.WriteFile(filepath.Clean(o.plot), []byte(replicaPlot(all, time.Now())), 0o644)
}

// replicaRound measures one number of replicas, and then raw inserts.
func replicaRound(ctx context.Context, url string, replicas, total, width int) (replicaFigures, error) {
	f := replicaFigures{replicas: replicas}
	var err error
	if f.ours, err = replicasDecide(ctx, url, replicas, total, width, false, &f.counted); err != nil {
		return f, err
	}
	raw, err := rawInserts(ctx, url, total, width)
	f.raw = raw.PerSecond
	return f, err
}

// serverCounts are what a server has done so far, in all its databases.
type serverCounts struct{ commits, rollbacks, wal float64 }

// countedBy returns what the server has done. Processes tell it with a delay of up to a second.
func countedBy(ctx context.Context, url string) (c serverCounts, err error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return c, err
	}
	for _, ours := range []string{"schema", "pool_max_conns"} {
		delete(cfg.RuntimeParams, ours)
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return c, err
	}
	defer conn.Close(ctx)
	err = conn.QueryRow(ctx, `select sum(xact_commit)::float8, sum(xact_rollback)::float8,
		(pg_current_wal_insert_lsn() - '0/0')::float8 from pg_stat_database`).Scan(&c.commits, &c.rollbacks, &c.wal)
	return c, err
}

// replicaPlot draws decisions and raw inserts per second against the number of replicas, as SVG.
func replicaPlot(all []replicaFigures, at time.Time) string {
	const left, top, wide, high = 70.0, 50.0, 520.0, 260.0
	most := 0.0
	for _, f := range all {
		most = max(most, f.ours.PerSecond, f.raw, 1500)
	}
	step := 500.0
	for most/step > 8 {
		step *= 2
	}
	most = step * float64(int(most/step)+1)
	x := func(replicas int) float64 { return left + wide*(float64(replicas)-0.5)/float64(len(all)) }
	y := func(v float64) float64 { return top + high*(1-v/most) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" `+
		`font-family="sans-serif" font-size="13">`+"\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
		left+wide+30, top+high+70)
	text := func(x, y float64, anchor, fill, words string) {
		fmt.Fprintf(&b, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"%s\" fill=\"%s\">%s</text>\n",
			x, y, anchor, fill, words)
	}
	line := func(x1, y1, x2, y2 float64, stroke, dash string) {
		fmt.Fprintf(&b, `<line x1="%.0f" y1="%.1f" x2="%.0f" y2="%.1f" stroke="%s" stroke-dasharray="%s"/>`+"\n",
			x1, y1, x2, y2, stroke, dash)
	}
	text(left, 24, "start", "#222", fmt.Sprintf("Decisions per second on one PostgreSQL, 64 at once, %d cores, %s",
		runtime.NumCPU(), at.Format("2 January 2006")))
	for v := 0.0; v <= most; v += step {
		line(left, y(v), left+wide, y(v), "#ddd", "")
		text(left-8, y(v)+4, "end", "#555", fmt.Sprintf("%.0f", v))
	}
	line(left, y(1500), left+wide, y(1500), "#b00", "6 4")
	text(left+wide, y(0)-8, "end", "#b00", "dashed: 1,500, as asked for") // where no point comes
	series := func(stroke string, value func(replicaFigures) float64) {
		var points []string
		for _, f := range all {
			points = append(points, fmt.Sprintf("%.0f,%.1f", x(f.replicas), y(value(f))))
		}
		fmt.Fprintf(&b, "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>\n",
			strings.Join(points, " "), stroke)
		for _, f := range all {
			fmt.Fprintf(&b, "<circle cx=\"%.0f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>\n",
				x(f.replicas), y(value(f)), stroke)
			text(x(f.replicas), y(value(f))-9, "middle", stroke, fmt.Sprintf("%.0f", value(f)))
		}
	}
	series("#888", func(f replicaFigures) float64 { return f.raw })
	series("#06c", func(f replicaFigures) float64 { return f.ours.PerSecond })
	for _, f := range all {
		text(x(f.replicas), top+high+20, "middle", "#222", fmt.Sprint(f.replicas))
	}
	text(left+wide/2, top+high+40, "middle", "#222", "replicas, each a process of its own")
	text(left, top+high+60, "start", "#06c", "decisions")
	text(left+90, top+high+60, "start", "#888",
		"rows of a kilobyte, committed one by one over 8 connections")
	b.WriteString("</svg>\n")
	return b.String()
}
