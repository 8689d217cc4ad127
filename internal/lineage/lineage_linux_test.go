package lineage

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// helperTask is the variable that says what this program does when a test starts it again.
const helperTask = "LINEAGE_TEST_TASK"

func TestMain(m *testing.M) {
	switch task, path, _ := strings.Cut(os.Getenv(helperTask), " "); task {
	case "":
		os.Exit(m.Run())
	case "connect-marked":
		if _, err := Set(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		_, _ = io.Copy(io.Discard, connect(path))
	case "connect": // and stay until the other end hangs up
		_, _ = io.Copy(io.Discard, connect(path))
	case "visit": // and leave
		connect(path)
	case "mark": // itself, and have a child tell what it is
		mark, err := Set()
		fmt.Println("set", err == nil, mark.Inherited())
		tell()
		cmd := helper("tell")
		cmd.Stdout = os.Stdout
		if err := cmd.Run(); err != nil {
			fmt.Println(err)
		}
	case "tell":
		tell()
		mark, err := Set() // as the bot of a tool does
		fmt.Println("set", err == nil, mark.Inherited())
		fmt.Println("raised", lower(unlimited) == nil)
	}
}

func tell() { fmt.Println("descendant", errors.Is(CheckSelf(), ErrDescendant)) }

func connect(path string) net.Conn {
	conn, err := net.Dial("unix", path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return conn
}

// helper is another start of this program.
func helper(task string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperTask+"="+task)
	cmd.Stderr = os.Stderr
	return cmd
}

// unlimitedHere skips a test that needs a process that nobody has marked.
func unlimitedHere(t *testing.T) {
	t.Helper()
	if limit, err := hardLimit(os.Getpid()); err != nil || limit != unlimited {
		t.Skipf("this process has a limit of file locks: %d, %v", limit, err)
	}
}

// TestMarkIsInherited marks a process and what it starts, and a bot that is started there knows it.
func TestMarkIsInherited(t *testing.T) {
	t.Parallel()
	unlimitedHere(t)
	if err := CheckSelf(); err != nil {
		t.Errorf("control: this process is no descendant of a bot: %v", err)
	}
	out, err := helper("mark").Output()
	if err != nil {
		t.Fatal(err)
	}
	want := "set true false\ndescendant true\ndescendant true\nset true true\n" + fmt.Sprintf("raised %v\n",
		mayRaise(t))
	if string(out) != want {
		t.Errorf("have:\n%s\nwant:\n%s", out, want)
	}
}

// mayRaise reports whether this process has CAP_SYS_RESOURCE, with which every limit can be raised.
func mayRaise(t *testing.T) bool {
	t.Helper()
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "CapEff:")
	word, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
	set, err := strconv.ParseUint(word, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return set&(1<<unix.CAP_SYS_RESOURCE) != 0
}

// visitor starts a helper that connects, and returns the connection and its process.
func visitor(t *testing.T, task string) (*exec.Cmd, net.Conn) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cmd := helper(task + " " + path)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return cmd, conn
}

func peerFor(t *testing.T, conn net.Conn) *Peer {
	t.Helper()
	p, err := PeerOf(conn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// TestJudge tells a descendant by its limit and by its ancestors, with a handle of the process and without.
func TestJudge(t *testing.T) {
	t.Parallel()
	unlimitedHere(t)
	cmd, conn := visitor(t, "connect")
	defer func() { conn.Close(); cmd.Wait() }()
	marked, markedConn := visitor(t, "connect-marked")
	defer func() { markedConn.Close(); marked.Wait() }()
	for _, c := range []struct {
		why  string
		conn net.Conn
		mark Mark
		want error
	}{
		{"an operator's", conn, Mark{pid: 1 << 30, found: unlimited}, nil},
		{"a child of the bot that could not be marked", conn, Mark{pid: os.Getpid(), found: unlimited}, ErrDescendant},
		{"a child of the bot where limits cannot be read", conn, Mark{pid: os.Getpid()}, ErrDescendant},
		{"of a bot that was started by a tool", conn, Mark{pid: 1 << 30, found: uint64(highest)}, ErrDescendant},
		{"what an earlier start of the bot has left", markedConn, Mark{pid: 1 << 30, found: unlimited}, ErrDescendant},
	} {
		p := peerFor(t, c.conn)
		if p.UID != uint32(os.Getuid()) {
			t.Errorf("%s: user %d", c.why, p.UID)
		}
		if err := c.mark.Judge(p); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.why, err, c.want)
		}
		p.handle = -1 // as with an older kernel
		if err := c.mark.Judge(p); !errors.Is(err, c.want) {
			t.Errorf("%s, without a handle: %v, want %v", c.why, err, c.want)
		}
		p.taken = 0
		if err := c.mark.Judge(p); !errors.Is(err, ErrUnknown) {
			t.Errorf("%s, and its number was given to another process since: %v", c.why, err)
		}
	}
}

// TestJudgeByLimits compares with what the bot has found, which may be an administrator's limit.
func TestJudgeByLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		found, limit uint64
		want         error
	}{
		{unlimited, unlimited, nil},
		{unlimited, 1000, ErrDescendant},
		{1000, unlimited, nil}, // root's, for instance
		{1000, 1000, nil},
		{1000, 999, ErrDescendant},
		{1000, uint64(highest), ErrDescendant}, // left by a bot that ran before there was a limit
		{uint64(highest), unlimited, ErrDescendant},
	} {
		if err := (&Mark{pid: 7, found: c.found}).judge(c.limit, []int{6, 1}); !errors.Is(err, c.want) {
			t.Errorf("found %d, limit %d: %v, want %v", c.found, c.limit, err, c.want)
		}
	}
}

// TestJudgeTheDead does not take anybody for a process that has ended.
func TestJudgeTheDead(t *testing.T) {
	t.Parallel()
	cmd, conn := visitor(t, "visit")
	early := peerFor(t, conn) // it may have ended by now
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*Peer{early, peerFor(t, conn)} {
		if err := (&Mark{pid: 1 << 30, found: unlimited}).Judge(p); !errors.Is(err, ErrUnknown) {
			t.Errorf("%v", err)
		}
	}
	if err := (&Mark{}).Judge(&Peer{handle: -1}); !errors.Is(err, ErrUnknown) {
		t.Errorf("a process outside of the container: %v", err)
	}
	one, other := net.Pipe()
	defer one.Close()
	defer other.Close()
	if _, err := PeerOf(one); err == nil {
		t.Error("a connection that is no Unix socket has a process")
	}
}

// TestParseStatus reads past names that look like the rest of the line.
func TestParseStatus(t *testing.T) {
	t.Parallel()
	const rest = " S 7 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 0"
	for _, name := range []string{"(sh)", "(a b)", "(x) S 1 1 1)", "())", "(\n)"} {
		if s, err := parseStatus("42 " + name + rest); err != nil || s != (status{7, 4711}) {
			t.Errorf("%q: %+v, %v", name, s, err)
		}
	}
	for _, line := range []string{"", "42 (sh", "42 (sh) S 7 1"} {
		if _, err := parseStatus(line); err == nil {
			t.Errorf("%q was read", line)
		}
	}
}

// TestAncestors begins with the parent and ends with the first process.
func TestAncestors(t *testing.T) {
	t.Parallel()
	all, err := ancestorsOf(os.Getpid())
	if err != nil || !slices.Contains(all, os.Getppid()) || all[0] != os.Getppid() || all[len(all)-1] > 1 {
		t.Errorf("%d, %v", all, err)
	}
}

// TestHardLimit reads what the system call says.
func TestHardLimit(t *testing.T) {
	t.Parallel()
	var want unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_LOCKS, &want); err != nil {
		t.Fatal(err)
	}
	if have, err := hardLimit(os.Getpid()); err != nil || have != want.Max {
		t.Errorf("%d, %v, want %d", have, err, want.Max)
	}
}

// TestLowered is always lower than what was found, and known for a mark where it began without a limit.
func TestLowered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		found, want uint64
		mark        bool
	}{
		{unlimited, uint64(highest), true},
		{uint64(highest), uint64(highest) - 1, true},
		{uint64(highest) - 7, uint64(highest) - 8, true},
		{1000, 999, false},
		{1, 0, false},
	} {
		if have, err := lowered(c.found); err != nil || have != c.want || isMark(have) != c.mark || have >= c.found {
			t.Errorf("%d: %d, %v, a mark: %v", c.found, have, err, isMark(have))
		}
	}
	if _, err := lowered(0); err == nil {
		t.Error("there is nothing below zero")
	}
	if isMark(unlimited) || isMark(uint64(highest)+1) {
		t.Error("what is higher than every mark is one")
	}
}
