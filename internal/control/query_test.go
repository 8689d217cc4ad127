package control

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"countersign/approvals"
)

// TestQueryTravels through the parameters as it is.
func TestQueryTravels(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[ -~é&=%+]{0,6}`)
		instant := func(name string) time.Time {
			if rapid.Bool().Draw(t, name+" is set") {
				return time.UnixMicro(rapid.Int64Range(1, 1<<51).Draw(t, name)).UTC()
			}
			return time.Time{}
		}
		status, err := ReadStatus(rapid.SampledFrom(StatusWords()).Draw(t, "status"))
		if err != nil {
			t.Fatal(err)
		}
		q := Query{
			Status: status, Person: word.Draw(t, "person"), Tool: word.Draw(t, "tool"), Agent: word.Draw(t, "agent"),
			Channel: word.Draw(t, "channel"), Run: approvals.RunID(word.Draw(t, "run")), Since: instant("since"),
			Until: instant("until"),
		}
		after := Cursor{approvals.WorkspaceID(word.Draw(t, "workspace")), word.Draw(t, "after")}
		v, err := url.ParseQuery(after.on(q.values(), 7).Encode())
		if err != nil {
			t.Fatal(err)
		}
		got, err := readQuery(v)
		if diff := cmp.Diff(q, got); err != nil || diff != "" {
			t.Errorf("%v (-want +have):\n%s", err, diff)
		}
		if c, limit := readCursor(v); c != after || limit != 7 {
			t.Errorf("%+v and %d, want %+v and 7", c, limit, after)
		}
	})
}

// TestQueryIsRefused where it says nothing, with the right words.
func TestQueryIsRefused(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"status=done":        "pending, approved, rejected, expired, cancelled, stale, superseded, review, audit, all",
		"status=":            "pending, approved",
		"since=yesterday":    "RFC 3339",
		"until=2026-11-02":   "RFC 3339",
		"state=approved":     `no parameter "state"`,
		"status=all&order=1": `no parameter "order"`,
	} {
		v, err := url.ParseQuery(raw)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readQuery(v); !errors.Is(err, approvals.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", raw, err, want)
		}
	}
}

// get asks the socket as another program would.
func get(t *testing.T, c *Client, path string) string {
	t.Helper()
	body, err := c.open(t.Context(), http.MethodGet, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	var b strings.Builder
	if _, err := io.Copy(&b, body); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestEarlierParameters: a client of an earlier version knows workspace, after and limit, and means what is pending.
func TestEarlierParameters(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	putRequests(t, st, newTestRequests())
	_, c := serve(t, &Local{Store: st})
	first := get(t, c, "/v1/requests?limit=2&workspace=&after=")
	if n := strings.Count(first, `"status":"pending"`); n != 2 || !strings.Contains(first, `"more":true`) ||
		!strings.Contains(first, `"id":"req_03"`) {
		t.Errorf("%d on the first page: %s", n, first)
	}
	rest := get(t, c, "/v1/requests?limit=100&workspace=T1&after=req_03")
	if n := strings.Count(rest, `"status":"pending"`); n != 10 || strings.Contains(rest, `"status":"approved"`) ||
		!strings.Contains(rest, `"more":false`) {
		t.Errorf("%d on the rest: %s", n, rest)
	}
	if refused := get(t, c, "/v1/requests?status=open"); !strings.Contains(refused, `"code":"invalid"`) {
		t.Errorf("a wrong status: %s", refused)
	}
}

// TestBotOfAnEarlierVersion does not know the question and lists what is pending: that is no answer.
func TestBotOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	pending := &named("req_1").RequestHead
	_, c := serve(t, &fakeDesk{page: []*approvals.RequestHead{pending}})
	_, _, err := c.Requests(t.Context(), Query{Status: approvals.RequestApproved}, Cursor{}, 5)
	if !errors.Is(err, errOtherVersion) {
		t.Errorf("%v", err)
	}
	got, _, err := c.Requests(t.Context(), Query{Status: approvals.RequestPending}, Cursor{}, 5) // the control
	if err != nil || !slices.ContainsFunc(got, func(r *approvals.RequestHead) bool { return r.ID == "req_1" }) {
		t.Errorf("%v, %v", got, err)
	}
}
