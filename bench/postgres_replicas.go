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

// loads say how many people decide at once, by the number of replicas: as many in all, or as many at each.
var loads = []struct {
	name, colour string
	width        func(replicas int) int
}{
	{"64 at once in all", "#06c", func(int) int { return 64 }},
	{"16 at each replica", "#080", func(replicas int) int { return 16 * replicas }},
}

// benchReplicasPostgres measures decisions per second with one to four processes on one database, beside what the same
// database inserts and commits row by row, and draws the decisions where -plot says.
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
	total := o.scale(6000, 256)
	rounds := make([][mostReplicas][]replicaFigures, len(loads))
	for range o.scale(3, 1) {
		for i := range mostReplicas { // in turn, so that what else the machine does falls on all of them
			for l, load := range loads {
				f, err := replicaRound(ctx, url, i+1, total, load.width(i+1))
				if err != nil {
					return err
				}
				rounds[l][i] = append(rounds[l][i], f)
			}
		}
	}
	var all [][]replicaFigures
	for l, load := range loads {
		fmt.Printf("%s:\n\n| replicas | decisions/s | p50 ms | p99 ms | raw inserts/s | share | "+
			"processor ms, ours + server's | transactions | rolled back | WAL bytes |\n"+
			"|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n", load.name)
		all = append(all, replicaTable(rounds[l][:], float64(total)))
		fmt.Println()
	}
	fmt.Println("Transactions, those that the server rolled back, and bytes of WAL are for each decision.")
	if o.plot == "" {
		return nil
	}
	return os.WriteFile(filepath.Clean(o.plot), []byte(replicaPlot(all, time.Now())), 0o644)
}

// replicaTable prints the median round of each number of replicas, in which so many decisions were made, and returns
// them.
func replicaTable(rounds [][]replicaFigures, decisions float64) (all []replicaFigures) {
	for _, of := range rounds {
		slices.SortFunc(of, func(a, b replicaFigures) int { return int(a.ours.PerSecond - b.ours.PerSecond) })
		f := of[len(of)/2]
		all = append(all, f)
		fmt.Printf("| %d | %.0f | %.1f | %.1f | %.0f | %.0f %% | %.2f + %.2f | %.2f | %.3f | %.0f |\n", f.replicas,
			f.ours.PerSecond, f.ours.P50, f.ours.P99, f.raw, 100*f.ours.PerSecond/f.raw, 1000/f.ours.PerCPUSecond,
			ms(f.ours.server), f.counted.commits/decisions, f.counted.rollbacks/decisions, f.counted.wal/decisions)
	}
	return all
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

// replicaPlot draws the decisions per second of each load against the number of replicas, as SVG.
func replicaPlot(all [][]replicaFigures, at time.Time) string {
	const left, top, wide, high = 70.0, 50.0, 520.0, 260.0
	most := 0.0
	for _, f := range slices.Concat(all...) {
		most = max(most, f.ours.PerSecond, 1500)
	}
	step := 500.0
	for most/step > 8 {
		step *= 2
	}
	most = step * float64(int(most/step)+1)
	x := func(replicas int) float64 { return left + wide*(float64(replicas)-0.5)/mostReplicas }
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
	text(left, 24, "start", "#222", fmt.Sprintf("Decisions per second on one PostgreSQL, %d cores, %s",
		runtime.NumCPU(), at.Format("2 January 2006")))
	for v := 0.0; v <= most; v += step {
		line(left, y(v), left+wide, y(v), "#ddd", "")
		text(left-8, y(v)+4, "end", "#555", fmt.Sprintf("%.0f", v))
	}
	line(left, y(1500), left+wide, y(1500), "#b00", "6 4")
	text(left+wide, y(0)-8, "end", "#b00", "dashed: 1,500, as asked for") // where no point comes
	series := func(stroke string, of []replicaFigures) {
		var points []string
		for _, f := range of {
			points = append(points, fmt.Sprintf("%.0f,%.1f", x(f.replicas), y(f.ours.PerSecond)))
		}
		fmt.Fprintf(&b, "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>\n",
			strings.Join(points, " "), stroke)
		for _, f := range of {
			fmt.Fprintf(&b, "<circle cx=\"%.0f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>\n",
				x(f.replicas), y(f.ours.PerSecond), stroke)
			at := y(f.ours.PerSecond) + 22 // below what is higher
			if f.ours.PerSecond >= highest(all, f.replicas) {
				at -= 32
			}
			text(x(f.replicas), at, "middle", stroke, fmt.Sprintf("%.0f", f.ours.PerSecond))
		}
	}
	for l, load := range loads {
		series(load.colour, all[l])
		text(left+170*float64(l), top+high+60, "start", load.colour, load.name)
	}
	for n := range mostReplicas {
		text(x(n+1), top+high+20, "middle", "#222", fmt.Sprint(n+1))
	}
	text(left+wide/2, top+high+40, "middle", "#222", "replicas, each a process of its own")
	b.WriteString("</svg>\n")
	return b.String()
}

// highest is the most that are decided under any load per second with so many replicas.
func highest(all [][]replicaFigures, replicas int) (most float64) {
	for _, f := range slices.Concat(all...) {
		if f.replicas == replicas {
			most = max(most, f.ours.PerSecond)
		}
	}
	return most
}
