package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

const testWorkspace = approvals.WorkspaceID("T0DEV")

func user(id string) approvals.UserID { return approvals.NewUserID(testWorkspace, id) }

// fakeService is a Service in memory with the rules that the surface depends on, and a directory's opinion about
// people. hold lets a test stop calls of Decide or Submit before they commit.
type fakeService struct {
	directory approvals.Directory

	mu          sync.Mutex
	submissions []approvals.Submission
	hurried     bool // a submission would not let clicks go first
	undated     bool // an answer does not say when it arrived
	busy        map[approvals.Place]bool
	seen        map[string]bool
	requests    map[approvals.RequestID]*approvals.Request
	order       []approvals.RequestID
	cancelled   []approvals.RunID
	decided     int
	atHome      []approvals.RequestID // what was last noted of a Home tab
	fail        error                 // answer of every call that writes
	forget      bool                  // the next Decide commits and then reports an error
	unseeable   []approvals.UserID    // may see nothing
	unjudged    int                   // how many requests Pending cannot judge
	unlisted    approvals.RequestID   // Pending lists nothing up to here, and says that there is more
	sought      int                   // calls of NewestPending
	unreadable  error                 // answer of Pending

	grants  []approvals.GrantView
	revoked []approvals.Revocation

	revealed []approvals.RevealIn // in order

	asked  []approvals.AskBackIn     // in order
	issued []approvals.CallbackIssue // in order

	hold func(what string) // called outside the lock, before a commit
	kept func()            // called when a decision is recorded
	read func()            // called outside the lock, before a request is read
	slow func()            // called outside the lock, before a run is cancelled or a requester asked
}

func newFakeService() *fakeService {
	return &fakeService{
		busy: map[approvals.Place]bool{}, seen: map[string]bool{},
		requests: map[approvals.RequestID]*approvals.Request{}, hold: func(string) {}, read: func() {},
		slow: func() {}, kept: func() {},
	}
}

func (f *fakeService) put(r *approvals.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests[r.ID] = r
	f.order = append(f.order, r.ID)
}

func (f *fakeService) get(id approvals.RequestID) approvals.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return *f.requests[id]
}

func (f *fakeService) edit(id approvals.RequestID, fn func(*approvals.Request)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := *f.requests[id]
	fn(&r)
	r.Version++
	f.requests[id] = &r
}

func (f *fakeService) submitted() []approvals.Submission {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.submissions)
}

func (f *fakeService) Submit(ctx context.Context, in approvals.Submission) (approvals.Receipt, error) {
	f.hold("submit")
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hurried = f.hurried || !approvals.Unhurried(ctx)
	if f.fail != nil {
		return approvals.Receipt{}, f.fail
	}
	for _, key := range in.Keys {
		if f.seen[key] {
			again := f.seen[in.Keys[0]]
			for _, key := range in.Keys {
				f.seen[key] = true
			}
			return approvals.Receipt{Outcome: approvals.SubmitDuplicate, Redelivered: again}, nil
		}
	}
	for _, key := range in.Keys {
		f.seen[key] = true
	}
	f.submissions = append(f.submissions, in)
	if f.busy[in.Place] {
		return approvals.Receipt{Run: "run_1", Outcome: approvals.SubmitQueued}, nil
	}
	f.busy[in.Place] = true
	return approvals.Receipt{Run: "run_1", Outcome: approvals.SubmitStarted}, nil
}

// dated reports whether the context says when an answer arrived, be it a while ago on a machine that is slow.
func dated(ctx context.Context) bool {
	for now := time.Now(); time.Since(now) < time.Minute; now = now.Add(-500 * time.Millisecond) {
		if !approvals.Arrival(ctx, now).Equal(now) {
			return true
		}
	}
	return false
}

func (f *fakeService) DecideOn(
	ctx context.Context, _ *approvals.Request, d approvals.Decision,
) (*approvals.Request, error) {
	f.mu.Lock()
	f.undated = f.undated || !dated(ctx)
	r, ok := f.requests[d.Request]
	f.mu.Unlock()
	if !ok {
		return nil, approvals.ErrNotFound
	}
	if err := f.MayDecide(ctx, r, d.By); err != nil && !errors.Is(err, approvals.ErrConflict) {
		return r, err
	}
	f.hold("decide")
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return nil, f.fail
	}
	next := *f.requests[d.Request]
	switch {
	case slices.ContainsFunc(next.Decisions, func(have approvals.Decision) bool { return have.ID == d.ID }):
		return &next, nil
	case next.Status != approvals.RequestPending:
		return &next, approvals.ErrConflict
	case d.Digest != next.Digest:
		return &next, approvals.ErrStale
	}
	d.At = time.Now()
	next.Decisions = append(slices.Clone(next.Decisions), d)
	next.Status, next.Settled, next.Version = approvals.RequestRejected, d.At, next.Version+1
	if d.Verdict.Affirms() {
		next.Status = approvals.RequestApproved
	}
	f.requests[d.Request] = &next
	f.decided++
	f.kept()
	if f.forget {
		f.forget = false
		return nil, errors.New("the connection broke")
	}
	return &next, nil
}

func (f *fakeService) CancelRun(
	ctx context.Context, _ approvals.WorkspaceID, id approvals.RunID, by approvals.UserID, _ string,
) (*approvals.Run, error) {
	f.slow()
	f.mu.Lock()
	refused := &approvals.Refusal{
		Fact: approvals.ErrUnauthorized, Why: "neither the requester nor an approver of what it waits for",
	}
	of := slices.Collect(maps.Values(f.requests))
	f.mu.Unlock()
	if !slices.ContainsFunc(of, func(r *approvals.Request) bool {
		return r.Run == id && (r.Requester == by || f.MayDecide(ctx, r, by) == nil)
	}) {
		return nil, refused
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return nil, f.fail
	}
	f.cancelled = append(f.cancelled, id)
	return &approvals.Run{ID: id}, nil
}

func (f *fakeService) Run(_ context.Context, ws approvals.WorkspaceID, id approvals.RunID) (*approvals.Run, error) {
	return &approvals.Run{Workspace: ws, ID: id, Requester: user("U0ANN")}, nil
}

func (f *fakeService) Request(
	_ context.Context, _ approvals.WorkspaceID, id approvals.RequestID,
) (*approvals.Request, error) {
	f.read()
	f.mu.Lock()
	defer f.mu.Unlock()
	r, ok := f.requests[id]
	if !ok {
		return nil, approvals.ErrNotFound
	}
	copied := *r
	return &copied, nil
}

func (f *fakeService) Requests(
	ctx context.Context, ws approvals.WorkspaceID, ids []approvals.RequestID,
) (list []*approvals.Request, err error) {
	for _, id := range ids {
		r, err := f.Request(ctx, ws, id)
		if err == nil {
			list = append(list, r)
		}
	}
	return list, nil
}

func (f *fakeService) Contents(
	ctx context.Context, heads []*approvals.RequestHead,
) (list []*approvals.Request, err error) {
	for _, head := range heads {
		r, err := f.Request(ctx, head.Workspace, head.ID)
		if err != nil {
			r = &approvals.Request{RequestHead: *head}
		}
		list = append(list, r)
	}
	return list, nil
}

func (f *fakeService) Recorded(
	ctx context.Context, ws approvals.WorkspaceID, id approvals.RequestID,
) (*approvals.Request, error) {
	return f.Request(ctx, ws, id)
}

func (f *fakeService) Pending(_ context.Context, q approvals.PendingQuery) (approvals.PendingPage, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []*approvals.Request
	if f.unreadable != nil {
		return approvals.PendingPage{}, f.unreadable
	}
	if q.After < f.unlisted {
		return approvals.PendingPage{Next: f.unlisted}, nil
	}
	for _, id := range f.order {
		r := *f.requests[id]
		if id <= q.After || r.Status != approvals.RequestPending {
			continue
		}
		if len(out) == q.Limit {
			return approvals.PendingPage{Requests: out, Next: out[len(out)-1].ID, Unjudged: f.unjudged}, nil
		}
		out = append(out, &r)
	}
	return approvals.PendingPage{Requests: out, Unjudged: f.unjudged}, nil
}

// looks counts the looks for new requests.
func (f *fakeService) looks() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sought
}

func (f *fakeService) NewestPending(
	_ context.Context, _ approvals.WorkspaceID, limit int,
) (page []*approvals.Request, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sought++
	for _, id := range slices.Backward(f.order) {
		if r := *f.requests[id]; r.Status == approvals.RequestPending && len(page) < limit {
			page = append(page, &r)
		}
	}
	return page, f.unreadable
}

func (f *fakeService) History(_ context.Context, q approvals.HistoryQuery) (approvals.HistoryPage, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	page := approvals.HistoryPage{Unjudged: f.unjudged}
	for _, id := range slices.Backward(f.order) {
		r := f.requests[id]
		if q.After != "" && id >= q.After || r.Status == approvals.RequestPending || q.Mine && r.Requester != q.Viewer {
			continue
		}
		if len(page.Requests) == q.Limit {
			page.Next = page.Requests[q.Limit-1].ID
			break
		}
		head := r.RequestHead
		page.Requests = append(page.Requests, &head)
	}
	return page, nil
}

func (f *fakeService) MayDecide(ctx context.Context, r *approvals.Request, u approvals.UserID) error {
	who, err := f.directory.Person(ctx, u, time.Time{})
	switch {
	case r.Status != approvals.RequestPending:
		return approvals.ErrConflict
	case err != nil:
		return fmt.Errorf("%w: %w", approvals.ErrUnavailable, err)
	case !who.Regular:
		return &approvals.Refusal{
			Fact: approvals.ErrUnauthorized, Rule: approvals.RuleMember, About: who.Why, Why: who.Why,
		}
	case u == r.Requester && !r.Requirement.SelfApproval:
		return &approvals.Refusal{Fact: approvals.ErrUnauthorized, Rule: approvals.RuleRequester}
	}
	return nil
}

// Reveal hands out what MayDecide lets somebody have.
func (f *fakeService) Reveal(ctx context.Context, in approvals.RevealIn) (*approvals.Request, error) {
	r, err := f.Recorded(ctx, in.Workspace, in.Request)
	if err != nil {
		return nil, err
	}
	if err := f.MayDecide(ctx, r, in.By); err != nil {
		return nil, err
	}
	answered := slices.ContainsFunc(r.Decisions, func(d approvals.Decision) bool { return d.By == in.By })
	if answered || r.Status != approvals.RequestPending {
		return nil, approvals.ErrConflict
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.revealed = append(f.revealed, in)
	whole := *r
	whole.Secret = nil
	return &whole, nil
}

// DecideAll decides one after the other.
func (f *fakeService) DecideAll(ctx context.Context, b approvals.Batch) ([]approvals.BatchAnswer, error) {
	var all []approvals.BatchAnswer
	for _, item := range b.Requests {
		r, err := f.DecideOn(ctx, nil, approvals.Decision{
			ID: b.ID + "/" + approvals.DecisionID(item.Request), Workspace: b.Workspace, Request: item.Request,
			By: b.By, Verdict: b.Verdict, Reason: b.Reason, Digest: item.Digest, Via: b.Via,
		})
		all = append(all, approvals.BatchAnswer{ID: item.Request, Request: r, Err: err})
	}
	return all, nil
}

// AskBack remembers what was asked.
func (f *fakeService) AskBack(ctx context.Context, in approvals.AskBackIn) (*approvals.Request, error) {
	f.slow()
	r, err := f.Recorded(ctx, in.Workspace, in.Request)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, in)
	return r, f.fail
}

// AnswerBack takes any answer.
func (f *fakeService) AnswerBack(ctx context.Context, in approvals.AnswerBackIn) (*approvals.Request, error) {
	return f.Recorded(ctx, in.Workspace, in.Request)
}

// IssueCallback makes a token that opens nothing.
func (f *fakeService) IssueCallback(
	_ context.Context, in approvals.CallbackIssue,
) (approvals.CallbackAddress, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.issued = append(f.issued, in)
	return approvals.CallbackAddress{URL: "https://bot.example/callbacks/" + string(in.Request), Token: "tok"}, f.fail
}

// Progress knows of no other policy than the recorded one.
func (f *fakeService) Progress(_ context.Context, r *approvals.Request) (*approvals.Progress, error) {
	p := &approvals.Progress{Current: r.Requirement}
	n := len(r.Requirement.Seats)
	for _, d := range r.Decisions {
		if d.Verdict.Affirms() && d.Void == "" && n > 0 {
			n--
		}
	}
	p.Missing, p.MissingNow = r.Requirement.Seats[:n], r.Requirement.Seats[:n]
	return p, nil
}

func (f *fakeService) MaySee(_ context.Context, _ *approvals.Request, u approvals.UserID) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if slices.Contains(f.unseeable, u) {
		return approvals.ErrUnauthorized
	}
	return nil
}

func (f *fakeService) GrantsFor(
	_ context.Context, by approvals.UserID, most int,
) (list []approvals.GrantView, more bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil || slices.Contains(f.unseeable, by) {
		return nil, false, f.fail
	}
	list = slices.Clone(f.grants)
	slices.Reverse(list)
	slices.SortStableFunc(list, func(x, y approvals.GrantView) int { return ended(&x) - ended(&y) })
	n := min(len(list), most)
	return list[:n], n < len(list), nil
}

func (f *fakeService) RevokeGrant(_ context.Context, v approvals.Revocation) (*approvals.Grant, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.grants, func(g approvals.GrantView) bool { return g.ID == v.Grant })
	switch {
	case f.fail != nil:
		return nil, f.fail
	case i < 0:
		return nil, approvals.ErrNotFound
	case slices.Contains(f.unseeable, v.By):
		return nil, approvals.ErrUnauthorized
	case f.grants[i].State == approvals.GrantRevoked:
		return &f.grants[i].Grant, approvals.ErrConflict
	}
	f.revoked, f.grants[i].State = append(f.revoked, v), approvals.GrantRevoked
	return &f.grants[i].Grant, nil
}

// Awaited names the users of the sets, else of the request's seats, but never its requester.
func (f *fakeService) Awaited(
	_ context.Context, r *approvals.Request, sets ...approvals.Approvers,
) (who approvals.Awaited, err error) {
	if len(sets) == 0 {
		for _, seat := range r.Requirement.Seats {
			sets = append(sets, seat.Approvers)
		}
	}
	for _, a := range sets {
		who.ChannelMembers = who.ChannelMembers || a.ChannelMembers
		who.Groups = append(who.Groups, a.Groups...)
		for _, u := range a.Users {
			if u != r.Requester && !slices.Contains(who.Users, u) {
				who.Users = append(who.Users, u)
			}
		}
	}
	return who, nil
}

// transfer is a request to move money, asked for by Ann.
func transfer(args string) *approvals.Request {
	created := time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)
	r := &approvals.Request{RequestContent: approvals.RequestContent{Arguments: json.RawMessage(args)},
		RequestHead: approvals.RequestHead{
			Workspace: testWorkspace, ID: "req_01arz3ndektsv4rrffq69g5fav", Run: "run_01arz3ndektsv4rrffq69g5fav",
			Place:     approvals.Place{Surface: "slack", Channel: "C0GENERAL", Thread: "1700000000.000100"},
			Requester: user("U0ANN"), Kind: agent.Confirm, Interruption: "ops/1/call_1",
			Agent: "ops", Path: []string{"ops"},
			Tool: approvals.ToolSnapshot{
				Name: "transfer_funds", Kind: agent.KindHTTP, Description: "Move money between two accounts.",
				Binding: []string{"POST", "https://bank.example/transfer", "Authorization"},
			},
			Status: approvals.RequestPending, Version: 1,
			Requirement: approvals.Requirement{
				Policy: "money", Seats: approvals.Quorum(1, approvals.Approvers{ChannelMembers: true}), DenyQuorum: 1,
				Always: []approvals.Scope{approvals.ScopeRun},
			},
			Created: created, Expires: created.Add(24 * time.Hour),
		}}
	copy(r.Digest[:], "a digest of thirty-two bytes....")
	return r
}

func (f *fakeService) ShowAgain(context.Context, approvals.WorkspaceID, string) error { return nil }

func (f *fakeService) ShownAtHome(_ context.Context, _ approvals.UserID, ids ...approvals.RequestID) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.atHome = ids
	return nil
}

// lastShownAtHome returns what was noted last of a Home tab.
func (f *fakeService) lastShownAtHome() []approvals.RequestID {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.atHome)
}

func (f *fakeService) Precedent(
	context.Context, *approvals.Request, approvals.UserID,
) (*approvals.Precedent, error) {
	return nil, nil
}

// BeginStream shows nothing: the runs of this service are nobody's work.
func (f *fakeService) BeginStream(context.Context, approvals.WorkspaceID, approvals.RunID, int64) (int, error) {
	return 0, approvals.ErrFenced
}

// ActiveRun finds no run.
func (f *fakeService) ActiveRun(
	context.Context, approvals.WorkspaceID, approvals.Place,
) (*approvals.Run, error) {
	return nil, approvals.ErrNotFound
}
