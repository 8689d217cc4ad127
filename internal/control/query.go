package control

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"countersign/approvals"
)

// Query selects requests of all workspaces. Empty fields match everything.
type Query struct {
	// Status may also be AwaitsReview, or Recorded.
	Status approvals.RequestStatus
	// Person asked, or gave an answer that counts: a user's id as the surface knows it, in whatever workspace, or an
	// approvals.UserID.
	Person               string
	Tool, Agent, Channel string
	Run                  approvals.RunID
	Since, Until         time.Time // created at or after Since and before Until
}

// in is the query in one workspace.
func (q *Query) in(ws approvals.WorkspaceID) approvals.RequestQuery {
	status, unreviewed := q.Status, q.Status == AwaitsReview
	if unreviewed {
		status = ""
	}
	return approvals.RequestQuery{
		Workspace: ws, Status: status, Unreviewed: unreviewed, Person: personIn(ws, q.Person), Tool: q.Tool,
		Agent: q.Agent, Channel: q.Channel, Run: q.Run,
		From: q.Since, To: q.Until,
	}
}

// selects reports whether the query selects the request.
func (q *Query) selects(r *approvals.RequestHead) bool {
	one := q.in(r.Workspace)
	return one.Matches(r)
}

// AwaitsReview is the word for a query that asks for what was decided past its policy and not reviewed yet.
const AwaitsReview approvals.RequestStatus = "review"

// anyStatus is the word for a query that asks for requests of every status.
const anyStatus = "all"

// StatusWords are the words that ReadStatus takes.
func StatusWords() []string {
	return []string{
		string(approvals.RequestPending), string(approvals.RequestApproved), string(approvals.RequestRejected),
		string(approvals.RequestExpired), string(approvals.RequestCancelled), string(approvals.RequestStale),
		string(approvals.RequestSuperseded), string(AwaitsReview), string(Recorded), anyStatus,
	}
}

// ReadStatus returns what Query.Status is for a word. Its error, an approvals.ErrInvalid, lists the right ones.
func ReadStatus(word string) (approvals.RequestStatus, error) {
	words := StatusWords()
	switch {
	case word == anyStatus:
		return "", nil
	case slices.Contains(words, word):
		return approvals.RequestStatus(word), nil
	}
	return "", fmt.Errorf("%w: there is no status %q; it is one of %s", approvals.ErrInvalid, word,
		strings.Join(words, ", "))
}

// The parameters of GET /v1/requests. Without a status it lists pending requests.
const (
	paramStatus, paramPerson, paramTool    = "status", "person", "tool"
	paramAgent, paramChannel, paramRun     = "agent", "channel", "run"
	paramSince, paramUntil                 = "since", "until"
	paramWorkspace, paramAfter, paramLimit = "workspace", "after", "limit" // where the page begins; how long it is
)

// values is the query as parameters.
func (q *Query) values() url.Values {
	v := url.Values{paramStatus: {anyStatus}}
	for name, value := range map[string]string{
		paramStatus: string(q.Status), paramPerson: q.Person, paramTool: q.Tool, paramAgent: q.Agent,
		paramChannel: q.Channel, paramRun: string(q.Run), paramSince: instant(q.Since), paramUntil: instant(q.Until),
	} {
		if value != "" {
			v.Set(name, value)
		}
	}
	return v
}

func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339Nano)
}

// readQuery is the inverse of values. A parameter that it does not know is refused: without it, the answer would hold
// what nobody has asked for.
func readQuery(v url.Values) (q Query, err error) {
	q.Status = approvals.RequestPending
	for name := range v {
		value := v.Get(name)
		switch name {
		case paramStatus:
			q.Status, err = ReadStatus(value)
		case paramPerson:
			q.Person = value
		case paramTool:
			q.Tool = value
		case paramAgent:
			q.Agent = value
		case paramChannel:
			q.Channel = value
		case paramRun:
			q.Run = approvals.RunID(value)
		case paramSince:
			q.Since, err = readInstant(name, value)
		case paramUntil:
			q.Until, err = readInstant(name, value)
		case paramWorkspace, paramAfter, paramLimit:
		default:
			err = fmt.Errorf("%w: there is no parameter %q", approvals.ErrInvalid, name)
		}
		if err != nil {
			return Query{}, err
		}
	}
	return q, nil
}

func readInstant(name, value string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, value)
	if err != nil {
		return time.Time{}, fmt.Errorf(
			"%w: parameter %s: %q is no time as in RFC 3339", approvals.ErrInvalid, name, value)
	}
	return t, nil
}
