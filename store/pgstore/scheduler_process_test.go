package pgstore

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"countersign/approvals"
)

// A test that kills or stops a replica runs it in a process of its own: this binary, told so by its environment.
const replicaVariable = "COUNTERSIGN_PGSTORE_REPLICA"

func init() {
	if told := os.Getenv(replicaVariable); told != "" {
		if err := replicaMain(told); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// replicaSettings are what a replica is told.
type replicaSettings struct {
	URL          string
	Sweep, Lease time.Duration
	Unfenced     bool
}

// replicaMain dispatches until its input ends. Of a job whose id begins with "hold" it says that it has begun, and when
// its context has ended; then it returns nil, as a handler does that does not look at its context.
func replicaMain(told string) error {
	var set replicaSettings
	if err := json.Unmarshal([]byte(told), &set); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err := Open(ctx, set.URL, Config{jobs: jobSettings{sweep: set.Sweep, lease: set.Lease, unfenced: set.Unfenced}})
	if err != nil {
		return err
	}
	defer s.Close()
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	err = s.Dispatch(ctx, func(ctx context.Context, j approvals.Job) error {
		fmt.Println("begin", j.ID)
		if strings.HasPrefix(j.ID, "hold") {
			<-ctx.Done()
			fmt.Println("told", j.ID)
		}
		return nil
	})
	fmt.Println("ended")
	return err
}

// replica is one in a process of its own.
type replica struct {
	*testing.T
	cmd  *exec.Cmd
	in   io.Closer
	said chan string
}

func startReplica(t *testing.T, set replicaSettings) *replica {
	t.Helper()
	told, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), replicaVariable+"="+string(told))
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := &replica{t, cmd, in, make(chan string, 1000)}
	t.Cleanup(func() { r.signal(syscall.SIGKILL) })
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			r.said <- lines.Text()
		}
		cmd.Wait()
		close(r.said)
	}()
	return r
}

// says waits until the replica says the line.
func (r *replica) says(line string) {
	r.Helper()
	for {
		if said, more := awaitSaid(r.T, line, r.said); said == line {
			return
		} else if !more {
			r.Fatalf("the replica ended before it said %q", line)
		}
	}
}

func awaitSaid(t testing.TB, what string, c <-chan string) (string, bool) {
	t.Helper()
	select {
	case v, more := <-c:
		return v, more
	case <-time.After(*awaiting):
		t.Fatalf("waited in vain for the replica to say %q", what)
		panic("unreachable")
	}
}

func (r *replica) signal(s syscall.Signal) {
	if err := r.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		r.Error(err)
	}
}

// TestReplicasOfProcesses has three replicas share jobs: each is handled, and none twice.
func TestReplicasOfProcesses(t *testing.T) {
	t.Parallel()
	url := newURL(t)
	s := openJobs(t, url, jobSettings{})
	var replicas []*replica
	for range 3 {
		replicas = append(replicas, startReplica(t, replicaSettings{URL: url}))
	}
	const jobs = 300
	for n := range jobs / 10 {
		var list []approvals.Job
		for i := range 10 {
			list = append(list, job(fmt.Sprint("job_", 10*n+i)))
		}
		enqueueJobs(t, s, list...)
	}
	until := time.Now().Add(time.Minute)
	for countJobs(t, s) > 0 && time.Now().Before(until) {
		time.Sleep(20 * time.Millisecond)
	}
	handled := map[string]int{}
	for n, r := range replicas {
		r.in.Close()
		own := 0
		for line := range r.said {
			if id, ok := strings.CutPrefix(line, "begin "); ok {
				handled[id]++
				own++
			}
		}
		t.Logf("replica %d handled %d", n, own)
	}
	for i := range jobs {
		if n := handled[fmt.Sprint("job_", i)]; n != 1 {
			t.Errorf("job %d was handled %d times", i, n)
		}
	}
}

func countJobs(t testing.TB, s *Store) (n int) {
	t.Helper()
	if err := s.work.QueryRow(context.WithoutCancel(t.Context()), "select count(*) from jobs").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestReplicaKilled kills a replica at work: once its lease has lapsed, another is given its job. With the periods that
// are shipped, which takes long, that is within 30 seconds.
func TestReplicaKilled(t *testing.T) {
	t.Parallel()
	set := replicaSettings{Sweep: 250 * time.Millisecond, Lease: time.Second}
	if *long {
		set = replicaSettings{}
	}
	killed, again := killReplica(t, set)
	if j := await(t, "the job of the replica that died", again); j.ID != "hold_1" {
		t.Errorf("job %s was handled", j.ID)
	}
	took := time.Since(killed)
	t.Logf("the job was taken over after %v", took)
	if took > 30*time.Second {
		t.Errorf("recovery took %v", took)
	}
}

// TestReplicaKilledControl is its control: where nobody sweeps, nobody takes the job over.
func TestReplicaKilledControl(t *testing.T) {
	t.Parallel()
	_, again := killReplica(t, replicaSettings{Sweep: -1, Lease: 500 * time.Millisecond})
	select {
	case j := <-again:
		t.Errorf("job %s was taken over, and nothing can have found it", j.ID)
	case <-time.After(2 * time.Second):
	}
}

// killReplica kills a replica that has begun with a job, while another waits for work.
func killReplica(t *testing.T, set replicaSettings) (at time.Time, again <-chan approvals.Job) {
	t.Helper()
	set.URL = newURL(t)
	s := openJobs(t, set.URL, jobSettings{sweep: set.Sweep, lease: set.Lease})
	r := startReplica(t, set)
	enqueueJobs(t, s, job("hold_1"))
	r.says("begin hold_1")
	jobs := make(chan approvals.Job, 10)
	t.Cleanup(dispatch(t, s, func(_ context.Context, j approvals.Job) error {
		jobs <- j
		return nil
	}))
	r.signal(syscall.SIGKILL)
	return time.Now(), jobs
}

// TestZombie stops a replica for longer than its lease and lets it go on. Its handler is told to end, and that it
// succeeds in spite of that is nothing to the handler that has the job by then: when that one fails, the job is
// repeated.
func TestZombie(t *testing.T) {
	t.Parallel()
	if repeated := zombie(t, false); !repeated {
		t.Error("the job was not repeated: the replica that had lost it has taken it away")
	}
}

// TestZombieControl is its control: without the fence the zombie's acknowledgement takes the job away.
func TestZombieControl(t *testing.T) {
	t.Parallel()
	if repeated := zombie(t, true); repeated {
		t.Error("the job was repeated although acknowledgements are not fenced")
	}
}

func zombie(t *testing.T, unfenced bool) (repeated bool) {
	t.Helper()
	set := replicaSettings{URL: newURL(t), Sweep: 200 * time.Millisecond, Lease: time.Second, Unfenced: unfenced}
	s := openJobs(t, set.URL, jobSettings{sweep: set.Sweep, lease: time.Minute})
	r := startReplica(t, set)
	enqueueJobs(t, s, job("hold_1"))
	r.says("begin hold_1")
	r.signal(syscall.SIGSTOP)
	begun, release := make(chan approvals.Job, 10), make(chan error)
	defer dispatch(t, s, func(ctx context.Context, j approvals.Job) error {
		begun <- j
		if j.Attempts > 0 {
			return nil
		}
		select {
		case err := <-release:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	})()
	await(t, "the job of the replica that stands still", begun)
	r.signal(syscall.SIGCONT)
	r.says("told hold_1")
	r.in.Close()
	r.says("ended")
	select {
	case release <- errors.New("failed"):
	case <-time.After(*awaiting):
		t.Fatal("the handler is gone")
	}
	select {
	case j := <-begun:
		return j.Attempts == 1
	case <-time.After(3 * time.Second):
		return false
	}
}
