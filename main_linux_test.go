package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// asProgram makes the test binary the program.
const asProgram = "COUNTERSIGN_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// TestEnvironmentIsHidden starts the bot, and looks for its tokens in /proc once it talks to Slack.
func TestEnvironmentIsHidden(t *testing.T) {
	t.Parallel()
	const token = "xoxb-4711-hunter2"
	slack, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer slack.Close()
	dir := t.TempDir()
	const agents = "version: 1\nagents: { ops: { instructions: Help., model: m } }\n"
	if err := os.WriteFile(filepath.Join(dir, "countersign.yaml"), []byte(agents), 0o600); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bot := exec.Command(exe, "run")
	bot.Dir = dir
	bot.Env = []string{
		asProgram + "=1", "SLACK_BOT_TOKEN=" + token, "SLACK_APP_TOKEN=xapp-4711", "OPENAI_API_KEY=sk-4711",
		"SLACK_API_URL=http://" + slack.Addr().String() + "/api/", "COUNTERSIGN_LISTEN=127.0.0.1:0",
	}
	var out bytes.Buffer
	bot.Stdout, bot.Stderr = &out, &out
	if err := bot.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- bot.Wait() }()
	defer func() {
		_ = bot.Process.Kill()
		<-ended
	}()
	asked := make(chan []byte, 1)
	go func() { // the bot says its token to Slack, and waits for the answer
		conn, err := slack.Accept()
		if err != nil {
			asked <- nil
			return
		}
		said := make([]byte, 64<<10)
		n, _ := conn.Read(said)
		asked <- said[:n]
	}()
	select {
	case said := <-asked:
		if !bytes.Contains(said, []byte(token)) {
			t.Errorf("control: the bot itself does not have the token: %q", said)
		}
	case err := <-ended:
		ended <- err
		t.Fatalf("the bot ended with %v: %s", err, out.Bytes())
	}
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", bot.Process.Pid))
	if bytes.Contains(environ, []byte("4711")) {
		t.Errorf("the tokens are there for everybody of the same user: %q", environ)
	}
	if err == nil && len(bytes.Trim(environ, "\x00")) > 0 {
		t.Errorf("the environment is there: %q", environ)
	}
}
