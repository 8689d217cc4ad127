package catalog

import (
	"crypto/sha256"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"countersign/agent/mcptoolset"
	"countersign/internal/agentsfile"
)

// retireAfter is how long a server that a reloaded file no longer has stays open for the runs that are under way.
const retireAfter = time.Minute

// Servers are the MCP servers that are open. A file that is read again takes over those that it declares as before.
type Servers struct {
	log     *slog.Logger
	version string

	mu      sync.Mutex
	open    map[serverKey]*openServer
	closing sync.WaitGroup // of those that no file has any more
}

// serverKey tells declarations of servers apart, values included.
type serverKey [sha256.Size]byte

type openServer struct {
	*mcptoolset.Server
	end *time.Timer // closes a server that the file in force does not have; nil of the others
}

// NewServers returns an empty set. Servers are told the version of the program.
func NewServers(version string, log *slog.Logger) *Servers {
	return &Servers{log: log, version: version, open: make(map[serverKey]*openServer)}
}

// server returns the server that the file declares. It is contacted when its tools are first wanted.
func (m *Servers) server(d *agentsfile.MCPServer) (*mcptoolset.Server, serverKey, error) {
	cfg := m.config(d)
	key := fingerprint(cfg)
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.open[key]; ok {
		known.keep()
		return known.Server, key, nil
	}
	s, err := mcptoolset.NewServer(cfg)
	if err == nil {
		m.open[key] = &openServer{Server: s}
	}
	return s, key, err
}

// config is the declaration in the words of mcptoolset.
func (m *Servers) config(d *agentsfile.MCPServer) mcptoolset.ServerConfig {
	cfg := mcptoolset.ServerConfig{
		Name: d.Name, Dir: d.Dir.Value, WrittenDir: d.Dir.Written,
		URL: d.URL.Value, SSE: d.SSE.Value, WrittenURL: d.URL.Written + d.SSE.Written,
		Trusted: d.Trusted, CallTimeout: d.Timeout, Version: m.version, Logger: m.log,
	}
	for _, word := range d.Command {
		cfg.Command = append(cfg.Command, word.Value)
		cfg.WrittenCommand = append(cfg.WrittenCommand, word.Written)
	}
	if len(d.Env) > 0 {
		cfg.Env, cfg.WrittenEnv = make(map[string]string, len(d.Env)), make(map[string]string, len(d.Env))
	}
	for _, v := range d.Env {
		cfg.Env[v.Name], cfg.WrittenEnv[v.Name] = v.Value.Value, v.Value.Written
	}
	if len(d.Headers) > 0 {
		cfg.Headers = make(map[string]string, len(d.Headers))
		cfg.WrittenHeaders = make(map[string]string, len(d.Headers))
	}
	for _, h := range d.Headers {
		cfg.Headers[h.Name], cfg.WrittenHeaders[h.Name] = h.Value.Value, h.Value.Written
	}
	return cfg
}

func fingerprint(cfg mcptoolset.ServerConfig) serverKey {
	cfg.Logger = nil
	text, _ := json.Marshal(cfg) // strings, maps of strings, and numbers always encode
	return sha256.Sum256(text)
}

func (s *openServer) keep() {
	if s.end != nil {
		s.end.Stop() // one that has fired already finds another end than its own
		s.end = nil
	}
}

// Retire keeps the servers of the catalog in force, and closes the others once the runs under way have had time to end.
func (m *Servers) Retire(inForce *Catalog) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, s := range m.open {
		switch {
		case inForce.used[key]:
			s.keep()
		case s.end == nil:
			m.closeLater(key, s)
		}
	}
}

// closeLater closes a server after retireAfter, unless somebody keeps it meanwhile. The caller holds the lock.
func (m *Servers) closeLater(key serverKey, s *openServer) {
	var end *time.Timer
	end = time.AfterFunc(retireAfter, func() {
		m.mu.Lock()
		if m.open[key] != s || s.end != end {
			m.mu.Unlock()
			return
		}
		delete(m.open, key)
		m.closing.Add(1)
		m.mu.Unlock()
		defer m.closing.Done()
		m.close(s)
	})
	s.end = end
}

// Close ends every server, and returns when their processes are gone.
func (m *Servers) Close() {
	m.mu.Lock()
	for _, s := range m.open {
		s.keep()
		m.closing.Go(func() { m.close(s) })
	}
	clear(m.open)
	m.mu.Unlock()
	m.closing.Wait()
}

func (m *Servers) close(s *openServer) {
	if err := s.Close(); err != nil {
		m.log.Warn("MCP server not ended cleanly", "server", s.Name(), "error", err)
	}
}
