package main

import (
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
	"time"

	"countersign/internal/slackdev"
)

// checkEvery is how many changes of messages quickSlack answers for each that the local workspace judges.
const checkEvery = 64

// quickSlack stands before a local workspace and answers from memory what a program asks at every click. The workspace
// takes twice as long to judge a card as the program to write it, on the cores that the program is measured on; Slack
// is elsewhere. One change of a message in checkEvery goes on to the workspace, as all other calls do.
type quickSlack struct {
	server  *http.Server
	to      *url.URL
	updates atomic.Int64

	mu      sync.Mutex
	answers map[string][]byte // by method and, where it matters, what is asked
	refused error             // the first change that the workspace did not take
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
	s := &quickSlack{to: to, answers: make(map[string][]byte)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/chat.update", func(w http.ResponseWriter, r *http.Request) {
		check := s.updates.Add(1)%checkEvery == 1
		if known := s.known(r.URL.Path + " "); known != nil && !check {
			io.Copy(io.Discard, r.Body)
			reply(w, known)
			return
		}
		s.serve(w, r, func([]byte) string { return "" }, check)
	})
	mux.HandleFunc("POST /api/users.info", func(w http.ResponseWriter, r *http.Request) {
		s.serve(w, r, func(body []byte) string { return string(body) }, false)
	})
	mux.Handle("/", httputil.NewSingleHostReverseProxy(to))
	s.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go s.server.Serve(l)
	return s, "http://" + l.Addr().String() + "/api/", nil
}

// serve answers as the workspace has answered the method before, about what key says; the workspace is asked when it
// has not, and when that is to be checked.
func (s *quickSlack) serve(w http.ResponseWriter, r *http.Request, key func([]byte) string, check bool) {
	var body bytes.Buffer
	if _, err := body.ReadFrom(r.Body); err != nil {
		http.Error(w, "unreadable", http.StatusBadRequest)
		return
	}
	about := r.URL.Path + " " + key(body.Bytes())
	known := s.known(about)
	if known == nil || check {
		asked, err := s.ask(r, body.Bytes())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		s.note(about, asked)
		known = asked
	}
	reply(w, known)
}

func (s *quickSlack) known(about string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answers[about]
}

func reply(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Write(body)
}

func (s *quickSlack) ask(r *http.Request, body []byte) ([]byte, error) {
	to := s.to.JoinPath(r.URL.Path).String()
	req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = r.Header.Clone()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

// note remembers an answer, or that the workspace refused.
func (s *quickSlack) note(about string, answer []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if bytes.Contains(answer, []byte(`"ok":true`)) {
		s.answers[about] = answer
	} else if s.refused == nil {
		s.refused = fmt.Errorf("the local workspace answered %s with %.200s", strings.TrimSpace(about), answer)
	}
}

// updated returns how many changes of messages were answered, and what the workspace refused, if anything.
func (s *quickSlack) updated() (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int(s.updates.Load()), s.refused
}
