package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"countersign/internal/slackdev"
)

// checkEvery is how many changes of messages quickSlack answers for each that the local workspace judges.
const checkEvery = 64

// What is answered from memory.
const (
	pathUpdate = "/api/chat.update"
	pathPerson = "/api/users.info"
)

// toWorkspace has a connection for each request: one that waits for the next may be closed by the workspace as that is
// sent.
var toWorkspace = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// quickSlack stands before a local workspace and answers from memory what a program asks at every click. The workspace
// takes twice as long to judge a card as the program to write it, on the cores that the program is measured on; Slack
// is elsewhere. One change of a message in checkEvery goes on to the workspace, as all other calls do. It reads
// requests off the connections itself: the server of net/http takes longer over each.
type quickSlack struct {
	listener net.Listener
	to       *url.URL
	updates  atomic.Int64

	mu      sync.Mutex
	answers map[string][]byte // whole responses, by method and, where it matters, what is asked
	refused error             // the first change that the workspace did not take, or call that failed
}

func startQuickSlack(ws *slackdev.Workspace) (*quickSlack, string, error) {
	to, err := url.Parse(ws.URL())
	if err != nil {
		return nil, "", err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	s := &quickSlack{listener: l, to: to, answers: make(map[string][]byte)}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed
			}
			go s.serve(conn)
		}
	}()
	return s, "http://" + l.Addr().String() + "/api/", nil
}

func (s *quickSlack) close() { s.listener.Close() }

// serve answers the requests of a connection, until the program closes it.
func (s *quickSlack) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		answer, err := s.answer(req)
		if err != nil {
			s.note("", []byte(err.Error()))
			return
		}
		if _, err := conn.Write(answer); err != nil {
			return
		}
	}
}

// answer returns a whole response: what the workspace has answered to the method before, about the same person, or else
// the workspace's own.
func (s *quickSlack) answer(req *http.Request) ([]byte, error) {
	about := req.URL.Path
	if about == pathUpdate {
		if known := s.known(about); s.updates.Add(1)%checkEvery != 1 && known != nil {
			_, err := io.Copy(io.Discard, req.Body)
			return known, err
		}
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	if about == pathPerson {
		about += " " + string(body)
		if known := s.known(about); known != nil {
			return known, nil
		}
	}
	answer, err := s.ask(req, body)
	if err == nil && (req.URL.Path == pathUpdate || req.URL.Path == pathPerson) {
		s.note(about, answer)
	}
	return answer, err
}

func (s *quickSlack) known(about string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answers[about]
}

// ask has the workspace answer.
func (s *quickSlack) ask(r *http.Request, body []byte) ([]byte, error) {
	to := s.to.JoinPath(r.URL.Path)
	to.RawQuery = r.URL.RawQuery
	req, err := http.NewRequestWithContext(r.Context(), r.Method, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = r.Header.Clone()
	resp, err := toWorkspace.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	resp.Close = false // the program's connection stays
	return httputil.DumpResponse(resp, true)
}

// note remembers an answer, or that the workspace refused.
func (s *quickSlack) note(about string, answer []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if bytes.Contains(answer, []byte(`"ok":true`)) {
		s.answers[about] = answer
	} else if s.refused == nil {
		s.refused = fmt.Errorf("the local workspace answered %s with %.400s", strings.TrimSpace(about), answer)
	}
}

// updated returns how many changes of messages were answered, and what the workspace refused, if anything.
func (s *quickSlack) updated() (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int(s.updates.Load()), s.refused
}
