package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/approvals"
	"countersign/internal/lineage"
	"countersign/internal/report"
)

// fakeDesk answers with what a test wants.
type fakeDesk struct {
	RunDesk
	grants  []*approvals.GrantView
	page    []*approvals.RequestHead
	asked   Query
	request *approvals.Request
	err     error
	decided approvals.Decision

	tried       Trial
	judgement   Judgement
	revealed    approvals.RevealIn
	batch       approvals.Batch
	head        approvals.VerifyOptions
	checkpoints int // that are said to agree
	found       bool
	letters     []*DeadLetter

	report   *report.Report
	reported ReportQuery

	replayed []approvals.NotificationID
	entries  int
	data     []byte
}

func (f *fakeDesk) Requests(_ context.Context, q Query, after Cursor, limit int) (
	[]*approvals.RequestHead, bool, error,
) {
	f.asked = q
	page := f.page
	for len(page) > 0 && string(page[0].ID) <= after.ID {
		page = page[1:]
	}
	return page[:min(limit, len(page))], len(page) > limit, f.err
}

func (f *fakeDesk) Request(context.Context, approvals.RequestID) (*approvals.Request, error) {
	return f.request, f.err
}

func (f *fakeDesk) Judgement(_ context.Context, t Trial) (Judgement, error) {
	f.tried = t
	return f.judgement, f.err
}

func (d *fakeDesk) Reveal(_ context.Context, in approvals.RevealIn) (*approvals.Request, error) {
	d.revealed = in
	return d.request, d.err
}

func (d *fakeDesk) Review(
	_ context.Context, _ approvals.WorkspaceID, id approvals.RequestID, v approvals.Review,
) (*approvals.Request, error) {
	if v.Verdict != approvals.ReviewObject {
		return nil, approvals.ErrConflict
	}
	return &approvals.Request{RequestHead: approvals.RequestHead{ID: id, Review: &v}}, nil
}

func (f *fakeDesk) Decide(_ context.Context, d approvals.Decision) (*approvals.Request, error) {
	f.decided = d
	return f.request, f.err
}

func (f *fakeDesk) DecideAll(_ context.Context, b approvals.Batch) ([]approvals.BatchAnswer, error) {
	f.batch = b
	var all []approvals.BatchAnswer
	for i, item := range b.Requests {
		a := approvals.BatchAnswer{ID: item.Request, Request: f.request}
		if i > 0 {
			a.Request, a.Err = nil, fmt.Errorf("left out: %w", approvals.ErrInvalid)
		}
		all = append(all, a)
	}
	return all, f.err
}

func (f *fakeDesk) IssueCallback(
	_ context.Context, in approvals.CallbackIssue,
) (approvals.CallbackAddress, error) {
	if f.err != nil {
		return approvals.CallbackAddress{}, f.err
	}
	return approvals.CallbackAddress{URL: string(in.Workspace) + "/" + string(in.Request), Token: string(in.By)}, nil
}

func (f *fakeDesk) VerifyAudit(_ context.Context, opts approvals.VerifyOptions) (approvals.AuditReport, error) {
	if f.head = opts; opts.Progress != nil {
		f.head.Progress = nil
		opts.Progress(1000)
		opts.Progress(2000)
	}
	return approvals.AuditReport{Workspaces: []approvals.WorkspaceAudit{{Workspace: "T1", Entries: 7}},
		HeadFound: f.found, Checkpoints: f.checkpoints}, f.err
}

func (f *fakeDesk) ExportAudit(_ context.Context, fn func(*approvals.AuditEntry) error) error {
	for i := range f.entries {
		if err := fn(&approvals.AuditEntry{Workspace: "T1", Seq: uint64(i + 1),
			Data: json.RawMessage(`{"a":"<b>"}`)}); err != nil {
			return err
		}
	}
	return f.err
}

func (f *fakeDesk) ExportRequests(
	context.Context, approvals.RequestExport, func(*approvals.ExportedRequest) error,
) error {
	return f.err
}

func (f *fakeDesk) Report(_ context.Context, q ReportQuery, progress func(int)) (*report.Report, error) {
	progress(10_000)
	progress(20_000)
	f.reported = q
	return f.report, f.err
}

func (f *fakeDesk) DeadLetters(context.Context, Cursor, int) ([]*DeadLetter, bool, error) {
	return f.letters, false, f.err
}

func (f *fakeDesk) Replay(_ context.Context, ids ...approvals.NotificationID) ([]approvals.NotificationID, error) {
	f.replayed = append(f.replayed, ids...)
	return ids, f.err
}

func (f *fakeDesk) Grants(context.Context, Cursor, int) ([]*approvals.GrantView, bool, error) {
	return f.grants, true, f.err
}

func (f *fakeDesk) RevokeGrant(_ context.Context, id approvals.GrantID, reason string) (*approvals.Grant, error) {
	return &approvals.Grant{ID: id, RevokedReason: reason}, f.err
}

func (f *fakeDesk) Backup(_ context.Context, w io.Writer) error {
	if _, err := w.Write(f.data); err != nil {
		return err
	}
	return f.err
}

func (f *fakeDesk) Close() error { return nil }

// serve offers the desk on the socket of a store in a fresh folder.
func serve(t *testing.T, desk Desk) (store string, client *Client) {
	t.Helper()
	return serveTo(t, desk, func(*lineage.Peer) error { return nil })
}

// serveTo is serve to those whom judge lets in.
func serveTo(t *testing.T, desk Desk, judge func(*lineage.Peer) error) (store string, client *Client) {
	t.Helper()
	store = filepath.Join(t.TempDir(), "x.db")
	log := slog.New(slog.DiscardHandler)
	l, err := Listen(store, log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	server := &Server{Desk: desk, Judge: judge, Logger: log}
	go func() { ended <- server.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	client, err = Dial(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return store, client
}

// named returns a pending request of which only the id is known.
func named(id approvals.RequestID) *approvals.Request {
	return &approvals.Request{RequestHead: approvals.RequestHead{ID: id, Status: approvals.RequestPending}}
}

// TestThroughSocket gets the same through the socket as from the desk.
func TestThroughSocket(t *testing.T) {
	t.Parallel()
	r := &approvals.Request{
		RequestHead:    approvals.RequestHead{Workspace: "T1", ID: "req_1", Status: approvals.RequestPending},
		RequestContent: approvals.RequestContent{Arguments: json.RawMessage(`{"a":1}`)},
	}
	desk := &fakeDesk{page: []*approvals.RequestHead{&r.RequestHead, &named("req_2").RequestHead,
		&named("req_3").RequestHead}, request: r, entries: 3, data: bytes.Repeat([]byte("x"), 3<<20)}
	_, c := serve(t, desk)
	ctx := t.Context()

	pending := Query{Status: approvals.RequestPending}
	page, more, err := c.Requests(ctx, pending, Cursor{}, 2)
	if err != nil || !more || len(page) != 2 {
		t.Errorf("first page: %d, %v, %v", len(page), more, err)
	}
	if page, more, err = c.Requests(ctx, pending, CursorAt(page[1]), 2); err != nil || more || len(page) != 1 ||
		page[0].ID != "req_3" {
		t.Errorf("last page: %d, %v, %v", len(page), more, err)
	}
	got, err := c.Request(ctx, "req_1")
	if diff := cmp.Diff(r, got); err != nil || diff != "" {
		t.Errorf("request: %v %s", err, diff)
	}
	d := approvals.Decision{ID: "dec_1", Workspace: "T1", Request: "req_1", By: "T1/U1", Verdict: approvals.Reject,
		Reason: "no\n\"é\"", Via: "cli"}
	d.Digest[3] = 9
	if _, err := c.Decide(ctx, d); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(d, desk.decided); diff != "" {
		t.Error(diff)
	}
	if report, err := c.VerifyAudit(ctx, approvals.VerifyOptions{}); err != nil || report.Workspaces[0].Entries != 7 {
		t.Errorf("verify: %+v, %v", report, err)
	}
	n := 0
	if err := c.ExportAudit(ctx, func(e *approvals.AuditEntry) error { n++; return nil }); err != nil || n != 3 {
		t.Errorf("export: %d, %v", n, err)
	}
	var b bytes.Buffer
	if err := c.Backup(ctx, &b); err != nil || b.Len() != 3<<20 {
		t.Errorf("backup: %d bytes, %v", b.Len(), err)
	}
}

// TestErrorsThroughSocket keeps facts and words, and the request that comes with them.
func TestErrorsThroughSocket(t *testing.T) {
	t.Parallel()
	r := &approvals.Request{RequestHead: approvals.RequestHead{ID: "req_1", Status: approvals.RequestApproved}}
	for code, fact := range codes {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			_, c := serve(t, &fakeDesk{request: r, err: errors.Join(fact)})
			got, err := c.Decide(t.Context(), approvals.Decision{})
			if !errors.Is(err, fact) || err.Error() != fact.Error() || got == nil || got.ID != "req_1" {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
	broken := &approvals.AuditError{Workspace: "T1", Seq: 4, Request: "req_1", Effect: "eff", Reason: "altered"}
	_, c := serve(t, &fakeDesk{err: broken, entries: 2, data: []byte("half")})
	report, err := c.VerifyAudit(t.Context(), approvals.VerifyOptions{})
	if got, ok := errors.AsType[*approvals.AuditError](err); !ok || *got != *broken {
		t.Errorf("verify: %v", err)
	}
	if len(report.Workspaces) != 1 || report.Workspaces[0].Entries != 7 {
		t.Errorf("verify: what is in order got lost: %+v", report)
	}
	if page, _, err := c.Requests(t.Context(), Query{}, Cursor{}, 10); err == nil {
		t.Errorf("what cannot be listed was taken for a list of %d", len(page))
	}
	if err := c.ExportAudit(t.Context(), func(*approvals.AuditEntry) error { return nil }); err == nil {
		t.Error("half an export was taken for a whole one")
	}
	if err := c.Backup(t.Context(), io.Discard); err == nil {
		t.Error("half a backup was taken for a whole one")
	}
}

// TestHeadIsLookedFor by the bot; one that does not say so has not.
func TestHeadIsLookedFor(t *testing.T) {
	t.Parallel()
	kept := approvals.VerifyOptions{Head: [32]byte{1, 2, 3}}
	for _, found := range []bool{true, false} {
		desk := &fakeDesk{found: found}
		_, c := serve(t, desk)
		report, err := c.VerifyAudit(t.Context(), kept)
		if report.HeadFound != found || found != (err == nil) || !found && !errors.Is(err, errOtherVersion) {
			t.Errorf("found %v: %+v, %v", found, report, err)
		}
		if desk.head.Head != kept.Head {
			t.Errorf("the bot was asked for %v", desk.head)
		}
		if answer := get(t, c, "/v1/audit/report?head=12"); !strings.Contains(answer, `"code":"invalid"`) {
			t.Errorf("a head of two digits: %s", answer)
		}
	}
}

// TestNotRunning tells a bot that does not run from one that does not answer.
func TestNotRunning(t *testing.T) {
	t.Parallel()
	store := filepath.Join(t.TempDir(), "x.db")
	if _, err := Dial(t.Context(), store); !errors.Is(err, ErrNotRunning) {
		t.Errorf("no socket: %v", err)
	}
	left, err := net.Listen("unix", store+".sock")
	if err != nil {
		t.Fatal(err)
	}
	left.(*net.UnixListener).SetUnlinkOnClose(false)
	left.Close()
	if _, err := Dial(t.Context(), store); !errors.Is(err, ErrNotRunning) {
		t.Errorf("socket left behind: %v", err)
	}
	l, err := Listen(store, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatalf("the socket left behind is in the way: %v", err)
	}
	l.Close()
}

// TestBotThatHangs: a bot that takes connections and does not answer is not waited for for ever, nor taken for one that
// does not run.
func TestBotThatHangs(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db.sock")
	l, err := net.Listen("unix", path) // which the system takes connections for
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = dialWithin(t.Context(), path, 50*time.Millisecond)
	if err == nil || errors.Is(err, ErrNotRunning) || !strings.Contains(err.Error(), "it was stopped, or hangs") {
		t.Errorf("a bot that hangs: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err = dialWithin(ctx, path, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	store, _ := serve(t, &fakeDesk{})
	client, err := Dial(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	client.Close()
}

// TestSocketFile is the owner's alone, and replaces nothing but a socket.
func TestSocketFile(t *testing.T) {
	t.Parallel()
	store, _ := serve(t, &fakeDesk{})
	path, err := SocketPath(store)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	other := filepath.Join(t.TempDir(), "y.db")
	if err := os.WriteFile(other+".sock", []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := Listen(other, slog.New(slog.DiscardHandler)); err == nil {
		l.Close()
		t.Error("a file was replaced by a socket")
	}
}

// TestSocketAboveALink: a file has one socket, by whatever path it is named; another file's is another one.
func TestSocketAboveALink(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	for _, err := range []error{
		os.MkdirAll(filepath.Join(top, "disk", "data"), 0o700), os.Mkdir(filepath.Join(top, "here"), 0o700),
		os.Symlink(filepath.Join(top, "disk", "data"), filepath.Join(top, "here", "link")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	paths := map[string]string{}
	for _, name := range []string{"disk/x.db", "here/link/../x.db", "here/x.db"} {
		path, err := SocketPath(top + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		paths[name] = path
	}
	if paths["here/link/../x.db"] != paths["disk/x.db"] || paths["here/x.db"] == paths["disk/x.db"] {
		t.Errorf("%q", paths)
	}
}

// TestLongPath moves the socket into the runtime directory, one for each store.
func TestLongPath(t *testing.T) {
	runtime := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	deep := filepath.Join(t.TempDir(), strings.Repeat("long/", 30))
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	first, err := SocketPath(filepath.Join(deep, "a.db"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := SocketPath(filepath.Join(deep, "b.db"))
	if err != nil || first == second || !strings.HasPrefix(first, runtime) || len(first) > longest {
		t.Errorf("%s %s %v", first, second, err)
	}
	l, err := Listen(filepath.Join(deep, "a.db"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if info, err := os.Stat(filepath.Dir(first)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info, err)
	}
	if err := os.Chmod(filepath.Dir(first), 0o777); err != nil {
		t.Fatal(err)
	}
	if l, err := Listen(filepath.Join(deep, "b.db"), slog.New(slog.DiscardHandler)); err == nil {
		l.Close()
		t.Error("a folder open to everybody was used")
	}
}

// TestRuntimeFolderEnds keeps the runtime directory as long as one store has its socket there, and not longer.
func TestRuntimeFolderEnds(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	deep := filepath.Join(t.TempDir(), strings.Repeat("long/", 30))
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	var open []net.Listener
	for _, name := range []string{"a.db", "b.db"} {
		l, err := Listen(filepath.Join(deep, name), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, l)
	}
	for i, l := range open {
		if _, err := os.Stat(runtimeFolder()); err != nil {
			t.Errorf("with %d sockets in it: %v", len(open)-i, err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(runtimeFolder()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the runtime directory is left behind: %v", err)
	}
}

// TestServeEnds lets an answer under way finish, and no longer than two seconds.
func TestServeEnds(t *testing.T) {
	t.Parallel()
	store := filepath.Join(t.TempDir(), "x.db")
	log := slog.New(slog.DiscardHandler)
	l, err := Listen(store, log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	server := &Server{Desk: &fakeDesk{}, Judge: func(*lineage.Peer) error { return nil }, Logger: log}
	go func() { ended <- server.Serve(ctx, l) }()
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("does not end")
	}
	if _, err := os.Stat(store + ".sock"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left behind: %v", err)
	}
}

// TestBatchThroughTheSocket brings each request's fate back, and the bot says which way the answer came.
func TestBatchThroughTheSocket(t *testing.T) {
	t.Parallel()
	desk := &fakeDesk{request: named("req_1")}
	_, c := serve(t, desk)
	sent := approvals.Batch{Workspace: "T1", By: "T1/U1", Verdict: approvals.Reject, Reason: "no",
		Requests: []approvals.BatchItem{{Request: "req_1", Digest: named("req_1").Digest}, {Request: "req_2"}}}
	answers, err := c.DecideAll(t.Context(), sent)
	if err != nil || len(answers) != 2 {
		t.Fatal(answers, err)
	}
	if diff := cmp.Diff(sent, desk.batch); diff != "" {
		t.Errorf("batch (-sent +received):\n%s", diff)
	}
	if answers[0].Err != nil || answers[0].Request.ID != "req_1" ||
		!errors.Is(answers[1].Err, approvals.ErrInvalid) || answers[1].ID != "req_2" {
		t.Errorf("answers %+v", answers)
	}
	desk.err = approvals.ErrInvalid
	if _, err := c.DecideAll(t.Context(), sent); !errors.Is(err, approvals.ErrInvalid) {
		t.Errorf("a refused batch: %v", err)
	}
}

// TestCallbackThroughTheSocket brings address and token, or why there is none.
func TestCallbackThroughTheSocket(t *testing.T) {
	t.Parallel()
	desk := &fakeDesk{}
	_, c := serve(t, desk)
	wish := approvals.CallbackIssue{Workspace: "T1", Request: "req_1", By: "T1/U1"}
	at, err := c.IssueCallback(t.Context(), wish)
	if want := (approvals.CallbackAddress{URL: "T1/req_1", Token: "T1/U1"}); err != nil || at != want {
		t.Errorf("callback %+v, %v", at, err)
	}
	desk.err = approvals.ErrUnauthorized
	if at, err := c.IssueCallback(t.Context(), wish); !errors.Is(err, approvals.ErrUnauthorized) ||
		at.Token != "" {
		t.Errorf("refused: %+v, %v", at, err)
	}
}

// TestReviewThroughTheSocket sends a review and gets the request, or the fact that stood against it.
func TestReviewThroughTheSocket(t *testing.T) {
	t.Parallel()
	_, client := serve(t, &fakeDesk{})
	r, err := client.Review(t.Context(), "T1", "req_1",
		approvals.Review{By: "T1/U1", Verdict: approvals.ReviewObject, Reason: "no"})
	if err != nil || r.ID != "req_1" || r.Review.By != "T1/U1" || r.Review.Reason != "no" {
		t.Errorf("%+v, %v", r, err)
	}
	_, err = client.Review(t.Context(), "T1", "req_1", approvals.Review{Verdict: approvals.ReviewAccept})
	if !errors.Is(err, approvals.ErrConflict) {
		t.Errorf("have %v", err)
	}
}

// TestRevealThroughTheSocket asks in somebody's name, the desk saying by which way, and gets the values or a refusal.
func TestRevealThroughTheSocket(t *testing.T) {
	t.Parallel()
	seen := &fakeDesk{request: named("req_1")}
	_, client := serve(t, &Local{Decider: seen})
	in := approvals.RevealIn{Workspace: "T1", Request: "req_1", By: "T1/U1", Via: "modal"}
	if r, err := client.Reveal(t.Context(), in); err != nil || r.ID != "req_1" {
		t.Errorf("%+v, %v", r, err)
	}
	in.Via = "cli"
	if seen.revealed != in {
		t.Errorf("the desk asked %+v", seen.revealed)
	}
	seen.err = approvals.ErrUnauthorized
	if r, err := client.Reveal(t.Context(), in); r != nil || !errors.Is(err, approvals.ErrUnauthorized) {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := (&Local{}).Reveal(t.Context(), in); !errors.Is(err, approvals.ErrInvalid) {
		t.Errorf("a store that is open for reading: %v", err)
	}
}
