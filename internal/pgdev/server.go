package pgdev

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
)

// Options say how a server is started. The zero value is usable.
type Options struct {
	// Durable has it wait for the disk: a commit costs what it costs in earnest.
	Durable bool
	// Settings are further ones, by name.
	Settings map[string]string
}

// Server is a PostgreSQL server that can be stopped and started again.
type Server struct {
	dir      string
	opts     Options
	account  *syscall.Credential
	postgres string

	mu      sync.Mutex
	process *os.Process
	ended   chan struct{} // closed when the process has ended
}

// NewServer makes a cluster in a folder of its own and starts it.
func NewServer(o Options) (*Server, error) {
	initdb, err := binary("initdb")
	if err != nil {
		return nil, err
	}
	postgres, err := binary("postgres")
	if err != nil {
		return nil, err
	}
	who, err := account()
	if err != nil {
		return nil, err
	}
	dir, err := newFolder(who)
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, opts: o, account: who, postgres: postgres}
	// The database's own collation is that of a language, so that a list which relies on it is found out.
	cmd := exec.Command(initdb, "-D", s.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync",
		"--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en-US")
	cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Credential: who}
	if out, err := cmd.CombinedOutput(); err != nil {
		os.RemoveAll(dir)
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	if err := s.Start(); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return s, nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// URL is that of a database of the server.
func (s *Server) URL(database string) string {
	return "postgres://postgres@localhost/" + database + "?host=" + s.dir
}

// Socket is the path of the Unix socket that the server listens on.
func (s *Server) Socket() string { return filepath.Join(s.dir, ".s.PGSQL.5432") }

func (s *Server) arguments() []string {
	settings := map[string]string{
		"listen_addresses": "", "unix_socket_directories": s.dir, "max_connections": "400", "shared_buffers": "64MB",
		"max_pred_locks_per_transaction": "256", "log_min_messages": "log", "timezone": "UTC",
		"wal_level": "replica", "max_wal_size": "2GB", "dynamic_shared_memory_type": "mmap",
	}
	if !s.opts.Durable {
		settings["fsync"], settings["full_page_writes"] = "off", "off"
	}
	for k, v := range s.opts.Settings {
		settings[k] = v
	}
	args := []string{"-D", s.data()}
	for k, v := range settings {
		args = append(args, "-c", k+"="+v)
	}
	return args
}

// Start starts the server and returns when it takes connections.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		return errors.New("the server runs already")
	}
	cmd := exec.Command(s.postgres, s.arguments()...)
	// The kernel stops the server when the thread that started it ends, so that thread stays.
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.account, Pdeathsig: syscall.SIGQUIT, Setpgid: true}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	started, ended := make(chan error, 1), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer close(ended)
		err := cmd.Start()
		started <- err
		if err == nil {
			cmd.Process.Wait()
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start postgres: %w", err)
	}
	s.process, s.ended = cmd.Process, ended
	ready := make(chan error, 1)
	go s.read(stderr, ready)
	if err := <-ready; err != nil {
		<-ended
		s.process = nil
		return err
	}
	return nil
}

// read reads what the server says until it ends, and tells when it is ready.
func (s *Server) read(stderr io.Reader, ready chan<- error) {
	var said []string
	told := false
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if told {
			continue
		}
		said = append(said, lines.Text())
		if strings.Contains(lines.Text(), "ready to accept") {
			told = true
			ready <- nil
		}
	}
	if !told {
		ready <- fmt.Errorf("postgres ended: %s", strings.Join(said, "\n"))
	}
}

// Stop ends the server: at once, as a crash does, or in order, with its clients thrown out. It returns when it is gone.
func (s *Server) Stop(crash bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return
	}
	how := syscall.SIGINT
	if crash {
		how = syscall.SIGQUIT
	}
	s.process.Signal(how)
	<-s.ended
	s.process = nil
}

// Remove stops the server and deletes its folder.
func (s *Server) Remove() {
	s.Stop(true)
	os.RemoveAll(s.dir)
}
