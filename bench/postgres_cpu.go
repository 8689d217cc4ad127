package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// serverCPU is the processor time that a PostgreSQL server on this machine has taken so far, with the connections that
// have ended.
func serverCPU(ctx context.Context, url string) (time.Duration, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return 0, err
	}
	for _, ours := range []string{"schema", "pool_max_conns"} {
		delete(cfg.RuntimeParams, ours)
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	var pid int
	if err := conn.QueryRow(ctx, "select pg_backend_pid()").Scan(&pid); err != nil {
		return 0, err
	}
	backend, err := processTimes(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("the server must run on this machine: %w", err)
	}
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	var sum time.Duration
	for _, path := range all {
		p, err := processTimes(path)
		switch {
		case err != nil: // it has ended
		case p.pid == backend.parent:
			sum += p.own + p.ended
		case p.parent == backend.parent:
			sum += p.own
		}
	}
	return sum, nil
}

// processTime is what the kernel says of a process: its processor time and that of its children that have ended.
type processTime struct {
	pid, parent int
	own, ended  time.Duration
}

func processTimes(path string) (p processTime, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return p, err
	}
	if _, err := fmt.Sscan(string(data), &p.pid); err != nil {
		return p, err
	}
	// What follows the name, which is in brackets and may hold anything, begins with the third field.
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	number := func(n int) time.Duration {
		v, _ := strconv.ParseInt(fields[n-3], 10, 64)
		return time.Duration(v)
	}
	const tick = time.Second / 100
	p.parent = int(number(4))
	p.own, p.ended = (number(14)+number(15))*tick, (number(16)+number(17))*tick
	return p, nil
}
