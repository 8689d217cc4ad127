package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"countersign/internal/openaidev"
)

// script answers every cycle: a call of transfer, then a sentence.
func script() openaidev.Script {
	return openaidev.Script{Rules: []openaidev.Rule{
		{User: ".", Round: 0, Func: func(*openaidev.Turn) openaidev.Reply {
			return openaidev.Reply{Calls: []openaidev.Call{{Name: "transfer", Arguments: `{"amount":250,"to":"acme"}`}}}
		}},
		{User: ".", Round: openaidev.AnyRound, Func: func(*openaidev.Turn) openaidev.Reply {
			return openaidev.Reply{Text: "Done."}
		}},
	}}
}

// serve is the model's side, in a process of its own so that its CPU time does not count.
func serve(ctx context.Context) error {
	s, err := openaidev.Start(openaidev.Config{Script: script(), Forget: true})
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Println(s.URL())
	go func() { // ends with the process; the parent closes standard input when it is done
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	<-ctx.Done()
	return nil
}

// startServer starts serve in a child process and returns its URL and what stops it.
func startServer(ctx context.Context) (string, func(), error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.CommandContext(ctx, self, "serve")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop := func() { in.Close(); cmd.Wait() }
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("model server: %w", err)
	}
	return strings.TrimSpace(url), stop, nil
}
