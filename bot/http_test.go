package bot

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/approvals"
	"countersign/internal/slackdev"
)

// newHTTPStage is a stage in HTTP mode.
func newHTTPStage(t *testing.T, with setUp) (*stage, string) {
	t.Helper()
	with.mode, with.slack.Mode = ModeHTTP, slackdev.ModeHTTP
	s := newStage(t, with)
	server := httptest.NewServer(s.bot.Handler())
	t.Cleanup(server.Close)
	err := s.slack.SetRequestURL(s.ctx(), slackdev.RequestURLs{
		Events: server.URL + PathEvents, Interactions: server.URL + PathInteractions,
		Commands: server.URL + PathCommands,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, server.URL
}

func TestHTTPModeDoesEverything(t *testing.T) {
	t.Parallel()
	s, _ := newHTTPStage(t, setUp{})
	r := transfer(small)
	card := s.show(r)
	if err := s.slack.Command(s.ctx(), "U0BEN", "C0GENERAL", "/approvals", "help"); err != nil {
		t.Fatal(err)
	}
	s.whispered("U0BEN", "one request in full")
	if err := s.click("U0BEN", card, "reject_with_reason"); err != nil {
		t.Fatal(err)
	}
	form := s.modalOf("U0BEN", "reject_with_reason")
	answer, err := s.slack.Submit(s.ctx(), "U0BEN", form.ID, reasoned(" "))
	if err != nil || answer["response_action"] != "errors" {
		t.Errorf("an empty reason: %v, %v", answer, err)
	}
	if err := s.click("U0BEN", card, "approve"); err != nil {
		t.Fatal(err)
	}
	if got := s.service.get(r.ID).Status; got != approvals.RequestApproved {
		t.Errorf("status %s", got)
	}
}

// mentionEvent is the body of a request with an event.
const mentionEvent = `{"type":"event_callback","team_id":"T0DEV","api_app_id":"A0DEV","event_id":"Ev1",` +
	`"event":{"type":"app_mention","user":"U0ANN","text":"<@U0BOT> pay","ts":"1700000000.000100",` +
	`"channel":"C0GENERAL"}}`

func TestUnsignedRequestsDoNothing(t *testing.T) {
	t.Parallel()
	s, base := newHTTPStage(t, setUp{})
	now := time.Now()
	bodies := map[string]string{
		PathEvents: mentionEvent, PathInteractions: url.Values{"payload": {"{}"}}.Encode(),
		PathCommands: "command=%2Fapprovals",
	}
	send := func(path, body string, h http.Header) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range h {
			req.Header[k] = v
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		io.Copy(io.Discard, resp.Body)
		return resp.StatusCode
	}
	for path, body := range bodies {
		signed := s.slack.Sign([]byte(body), now)
		tampered := signed.Clone()
		tampered.Set("X-Slack-Signature", "v0="+strings.Repeat("0", 64))
		half := signed.Clone()
		half.Set("X-Slack-Signature", signed.Get("X-Slack-Signature")[:20])
		garbage := signed.Clone()
		garbage.Set("X-Slack-Request-Timestamp", "now")
		bare := signed.Clone()
		bare.Set("X-Slack-Signature", strings.TrimPrefix(signed.Get("X-Slack-Signature"), "v0="))
		for why, h := range map[string]http.Header{
			"no headers": {}, "a wrong signature": tampered, "half a signature": half,
			"an unreadable time": garbage, "without a version": bare,
			"too old":         s.slack.Sign([]byte(body), now.Add(-maxSkew-time.Minute)),
			"from the future": s.slack.Sign([]byte(body), now.Add(maxSkew+time.Minute)),
			"of another body": s.slack.Sign([]byte(body+" "), now),
		} {
			if got := send(path, body, h); got != http.StatusUnauthorized {
				t.Errorf("%s %s: HTTP %d", path, why, got)
			}
		}
	}
	if got := send(PathEvents, strings.Repeat("x", maxBody+1), nil); got != http.StatusRequestEntityTooLarge {
		t.Errorf("a huge body: HTTP %d", got)
	}
	if got := len(s.service.submitted()); got != 0 {
		t.Fatalf("%d submissions", got)
	}
	got := send(PathEvents, mentionEvent, s.slack.Sign([]byte(mentionEvent), now))
	if got != http.StatusOK || len(s.service.submitted()) != 1 {
		t.Errorf("the control, a signed request: HTTP %d, %d submissions", got, len(s.service.submitted()))
	}
}

// TestProbesAreAnsweredUnsigned: Slack tries out an address without a signature. Nothing else may pass as a probe.
func TestProbesAreAnsweredUnsigned(t *testing.T) {
	t.Parallel()
	s, base := newHTTPStage(t, setUp{})
	for body, want := range map[string]int{
		"ssl_check=1&token=x":     http.StatusOK,
		"ssl_check=1":             http.StatusOK,
		"ssl_check=0":             http.StatusUnauthorized,
		"ssl_check=true":          http.StatusUnauthorized,
		"ssl_check=":              http.StatusUnauthorized,
		"token=x":                 http.StatusUnauthorized,
		"":                        http.StatusUnauthorized,
		"ssl_check=0&ssl_check=1": http.StatusUnauthorized,
		"ssl_check=1&ssl_check=1": http.StatusUnauthorized,
		"ssl_check=1&command=%2Fapprovals&user_id=U0BEN":                   http.StatusUnauthorized,
		url.Values{"ssl_check": {"1"}, "payload": {mentionEvent}}.Encode(): http.StatusUnauthorized,
		"ssl_check=1&token=" + strings.Repeat("x", 300):                    http.StatusUnauthorized,
	} {
		for _, path := range []string{PathEvents, PathInteractions, PathCommands} {
			resp, err := http.Post(base+path, "application/x-www-form-urlencoded", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != want {
				t.Errorf("%s %.60s: HTTP %d, want %d", path, body, resp.StatusCode, want)
			}
		}
	}
	resp, err := http.Post(base+PathCommands, "application/json", strings.NewReader("ssl_check=1"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("a probe that is no form: HTTP %d", resp.StatusCode)
	}
	signed := "ssl_check=1&token=x"
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+PathCommands, strings.NewReader(signed))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = s.slack.Sign([]byte(signed), time.Now())
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if resp, err = http.DefaultClient.Do(req); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("a signed probe: HTTP %d", resp.StatusCode)
	}
	if got := len(s.service.submitted()); got != 0 {
		t.Errorf("%d submissions", got)
	}
}

func TestEmptySecretProvesNothing(t *testing.T) {
	t.Parallel()
	mac := hmac.New(sha256.New, nil)
	mac.Write([]byte("v0:1:"))
	for _, sum := range []string{"", hex.EncodeToString(mac.Sum(nil))} {
		header := http.Header{"X-Slack-Request-Timestamp": {"1"}, "X-Slack-Signature": {"v0=" + sum}}
		if verify("", header, nil, time.Unix(1, 0)) == nil {
			t.Errorf("an empty secret was accepted with %q", sum)
		}
	}
}

// TestRefusedRequestsAreToldOnceAMinute: operators read why requests are refused, and whoever sends many cannot fill
// the log. What they sent is never in it.
func TestRefusedRequestsAreToldOnceAMinute(t *testing.T) {
	t.Parallel()
	s, base := newHTTPStage(t, setUp{})
	now := time.Now()
	for range 20 {
		for why, header := range map[error]http.Header{
			errUnsigned: {}, errOtherSecret: s.slack.Sign([]byte("another body"), now),
			errOtherTime: s.slack.Sign([]byte(mentionEvent), now.Add(-time.Hour)),
		} {
			if got := verify(s.bot.secret, header, []byte(mentionEvent), now); got != why {
				t.Fatalf("refused with %v, want %v", got, why)
			}
			req, err := http.NewRequestWithContext(
				t.Context(), http.MethodPost, base+PathEvents, strings.NewReader(mentionEvent))
			if err != nil {
				t.Fatal(err)
			}
			maps.Copy(req.Header, header)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusUnauthorized {
				t.Errorf("%v: HTTP %d", why, resp.StatusCode)
			}
		}
	}
	log := s.logs.String()
	for _, why := range []error{errUnsigned, errOtherSecret, errOtherTime} {
		if n := strings.Count(log, why.Error()); n != 1 {
			t.Errorf("told %d times that %v", n, why)
		}
	}
	if strings.Contains(log, "1700000000") {
		t.Errorf("the log holds what was sent: %s", log)
	}
	var r refusals
	var told []int
	for _, at := range []time.Duration{0, 1, 2, refusalsTold, refusalsTold + 1, 3 * refusalsTold} {
		told = append(told, r.note(errOtherSecret, now.Add(at)))
	}
	if d := cmp.Diff([]int{1, 0, 0, 3, 0, 2}, told); d != "" {
		t.Errorf("counted (-want +got):\n%s", d)
	}
}

// TestRetriesOverHTTP has requests arrive that Slack marks as repeated, because nothing had answered before: they do
// what the first would have done, and a further repetition does nothing more.
func TestRetriesOverHTTP(t *testing.T) {
	t.Parallel()
	s, base := newHTTPStage(t, setUp{})
	r := transfer(small)
	s.service.put(r)
	r.Cards = []approvals.Card{{Channel: "C0GENERAL", Message: "1700000000.000200"}}
	click := `{"type":"block_actions","user":{"id":"U0BEN"},"team":{"id":"T0DEV"},"container":{"type":"message",` +
		`"channel_id":"C0GENERAL","message_ts":"1700000000.000200"},` +
		`"actions":[{"action_id":"approve","value":"` + string(r.ID) + `","action_ts":"1"}]}`
	command := url.Values{
		"command": {slashCommand}, "text": {"help"}, "user_id": {"U0BEN"}, "team_id": {"T0DEV"},
		"channel_id": {"C0GENERAL"}, "api_app_id": {"A0DEV"},
	}
	for _, c := range []struct{ path, body string }{
		{PathEvents, mentionEvent}, {PathInteractions, url.Values{"payload": {click}}.Encode()},
		{PathCommands, command.Encode()},
	} {
		for attempt := range 3 {
			h := s.slack.Sign([]byte(c.body), time.Now())
			h.Set("X-Slack-Retry-Num", strconv.Itoa(attempt+1))
			h.Set("X-Slack-Retry-Reason", "http_timeout")
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+c.path, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header = h
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Errorf("%s, attempt %d: HTTP %d", c.path, attempt+1, resp.StatusCode)
			}
		}
	}
	if n := len(s.service.submitted()); n != 1 {
		t.Errorf("%d submissions of one mention", n)
	}
	if got := s.service.get(r.ID).Decisions; len(got) != 1 {
		t.Errorf("%d decisions of one click", len(got))
	}
	s.whispered("U0BEN", "one request in full")
}

func TestHTTPWithoutRunAsksToTryAgain(t *testing.T) {
	t.Parallel()
	s, base := newHTTPStage(t, setUp{})
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	body := strings.NewReader(mentionEvent)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+PathEvents, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = s.slack.Sign([]byte(mentionEvent), time.Now())
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("HTTP %d", resp.StatusCode)
	}
}
