package catalog

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const serverFile = head + "      - { type: mcp, server: s, require_approval: never }\n" +
	"mcp_servers: { s: { command: [/absent/program], env: { A: \"%s\" } } }\n"

func withServer(value string) string { return strings.Replace(serverFile, "%s", value, 1) }

// TestServersAreReused takes over a server that is declared as before, and only such a one.
func TestServersAreReused(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	server := func(text string) any {
		c, err := Build(parseFile(t, text), cfg)
		if err != nil {
			t.Fatal(err)
		}
		return c.rows[len(c.rows)-1].set.Server
	}
	first := server(withServer("x"))
	if server(withServer("x")) != first {
		t.Error("the same declaration is another server")
	}
	if server(withServer("y")) == first {
		t.Error("a declaration with another value is the same server")
	}
	if len(cfg.Servers.open) != 2 {
		t.Errorf("%d servers", len(cfg.Servers.open))
	}
	cfg.Servers.Close()
	if len(cfg.Servers.open) != 0 {
		t.Errorf("%d servers after the end", len(cfg.Servers.open))
	}
}

// TestRetire closes a server a minute after the last file that had it, unless a file has it again.
func TestRetire(t *testing.T) {
	t.Parallel()
	with, without := parseFile(t, withServer("x")), parseFile(t,
		head+"      - { type: function, name: current_time }\n")
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		defer cfg.Servers.Close()
		first, err := Build(with, cfg)
		if err != nil {
			t.Fatal(err)
		}
		set := first.rows[0].set
		closed := func() bool {
			_, err := set.Tools(t.Context())
			return err != nil && strings.Contains(err.Error(), "closed")
		}
		reload := func() {
			next, err := Build(without, cfg)
			if err != nil {
				t.Fatal(err)
			}
			cfg.Servers.Retire(next)
		}
		reload()
		time.Sleep(retireAfter - time.Second)
		reload() // does not begin the minute anew
		if closed() {
			t.Error("closed while runs may still use it")
		}
		if back, err := Build(with, cfg); err != nil || back.rows[0].set.Server != set.Server {
			t.Fatalf("the server that is still open was not taken back: %v", err)
		}
		cfg.Servers.Retire(first)
		time.Sleep(2 * retireAfter)
		if closed() {
			t.Error("closed although the file has it again")
		}
		reload()
		time.Sleep(retireAfter + time.Second)
		synctest.Wait()
		if !closed() {
			t.Error("still open")
		}
	})
}
