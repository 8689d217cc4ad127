package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"countersign/agent"
	"countersign/agent/scripted"
	"countersign/approvals"
)

// benchTrail makes whole runs through Service and Worker until the audit trail has about a million entries, and then
// has the program read all of it, as an auditor does who has a copy of the store.
func benchTrail(ctx context.Context, o options) error {
	if o.program == "" {
		return errors.New("needs -program")
	}
	dir := filepath.Join(o.dir, "trail")
	runs := o.scale(110_000, 200)
	began := time.Now()
	if err := recordRuns(ctx, dir, runs); err != nil {
		return err
	}
	info, err := os.Stat(filepath.Join(dir, "countersign.db"))
	if err != nil {
		return err
	}
	fmt.Printf("%d runs with one decision each, made in %.0f s, a file of %.0f MB\n\n", runs,
		time.Since(began).Seconds(), float64(info.Size())/1e6)
	fmt.Println("| command | lines | first line after s | ended after s | CPU s | peak MB |")
	fmt.Println("|---|--:|--:|--:|--:|--:|")
	for _, args := range [][]string{
		{"audit", "verify"},
		{"audit", "export"},
		{"approvals", "export"},
		{"approvals", "export", "--from", "1h", "--format", "csv"},
		{"audit", "report", "--from", time.Now().Add(-24 * time.Hour).UTC().Format(time.RFC3339)},
	} {
		if err := readTrail(ctx, o.program, dir, args); err != nil {
			return err
		}
	}
	fmt.Println()
	return nil
}

// recordRuns makes runs that ask once and are approved, with a model that answers at once.
func recordRuns(ctx context.Context, dir string, total int) error {
	transfer := agent.NewTool("transfer", "Move money between two accounts.",
		func(context.Context, transferInput) (string, error) { return "transferred", nil })
	transfer.NeedsApproval = agent.AlwaysAsk
	rig, err := newServiceRig(dir, &agent.Agent{
		Name: "bench", Instructions: "You move money.", Tools: []agent.Tool{transfer},
		Model: scripted.New(
			scripted.Calls(scripted.Call("call_1", "transfer", `{"to":"acme","amount":250}`)), scripted.Say("Done.")),
	})
	if err != nil {
		return err
	}
	defer rig.close()
	working, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { rig.worker.Run(working) })
	defer wg.Wait()
	defer stop()
	slots, failed := make(chan struct{}, 256), make(chan error, 1)
	var waiting sync.WaitGroup
	for i := 0; i < total && len(failed) == 0 && ctx.Err() == nil; i++ {
		slots <- struct{}{}
		waiting.Go(func() {
			defer func() { <-slots }()
			if err := rig.once(ctx, strconv.Itoa(i)); err != nil {
				select {
				case failed <- err:
				default:
				}
			}
		})
	}
	waiting.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return ctx.Err()
	}
}

// once makes one run and waits for its answer.
func (r *serviceRig) once(ctx context.Context, name string) error {
	receipt, err := r.service.Submit(ctx, approvals.Submission{
		Workspace: benchWorkspace, Keys: []string{"event " + name}, Requester: benchRequester, Agent: "bench",
		Text: "transfer 250 to acme", Message: name,
		Place: approvals.Place{Surface: "slack", Channel: "C1", Thread: name},
	})
	if err != nil {
		return err
	}
	defer r.desk.answers.Delete(receipt.Run)
	select {
	case <-r.desk.waiter(receipt.Run):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// readTrail runs a command of the program on the store and prints what that took.
func readTrail(ctx context.Context, program, dir string, args []string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "COUNTERSIGN_STORE=bolt:"+filepath.Join(dir, "countersign.db"))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	lines, first := 0, time.Duration(0)
	for r := bufio.NewReaderSize(out, 1<<20); ; lines++ {
		_, err := r.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errors.Join(err, cmd.Wait())
		}
		if lines == 0 {
			first = time.Since(began)
		}
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%v: %w", args, err)
	}
	took := time.Since(began)
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return errors.New("no resource usage on this system")
	}
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	fmt.Printf("| %s %s | %d | %.1f | %.1f | %.1f | %.0f |\n", args[0], args[1], lines, first.Seconds(), took.Seconds(),
		cpu.Seconds(), float64(usage.Maxrss)/1024)
	return nil
}
