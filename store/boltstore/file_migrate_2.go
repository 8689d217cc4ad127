package boltstore

import (
	"encoding/base32"
	"encoding/binary"
	"errors"
	"reflect"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// What follows is format 2, as far as it differs from this one. It never changes.
//
//	bucket      key                                value
//	runs        workspace, run                     run2
//	            workspace, run, request            request2
//	effects     workspace, run, effect             effect2
//	work        workspace, place.Key(), "n", id    Notification, without its last fields
//	            workspace, id, "j", kind           job2: due when it was written
//	later       workspace, id, "j", kind           job2: planned for later
//	later_due   kind, due, workspace, id           –
//
// The values in requests_pending are empty.
var (
	bucketWork2     = []byte("work")
	bucketLater2    = []byte("later")
	bucketLaterDue2 = []byte("later_due")

	bucketsOnlyOf2 = [][]byte{bucketWork2, bucketLater2, bucketLaterDue2}
	bucketsOf2     = append([][]byte{
		bucketRuns, bucketPlaces, bucketRequesters, bucketChannels, bucketRequests, bucketPending, bucketOnce,
		bucketStates, bucketChunks, bucketEffects, bucketAudit, bucketSessions, bucketSessionKey,
	}, bucketsOnlyOf2...)
)

// migrationFrom2 brings format 2 to this one. What is not named here stays as it is: records that have only grown at
// their end are read as they are.
var migrationFrom2 = []migration{
	{bucketEffects, (*tx).effectFrom2},
	{bucketRuns, (*tx).runFrom2},
	{bucketRuns, (*tx).outcomeFrom2}, // needs all effects and requests in the new form
	{bucketWork2, (*tx).workFrom2},
	{bucketLater2, (*tx).laterFrom2},
}

type run2 struct {
	Workspace    approvals.WorkspaceID
	ID           approvals.RunID
	Place        approvals.Place
	Agent        string
	Requester    approvals.UserID
	Input        string
	Status       approvals.RunStatus
	Version      int64
	Epoch        int64
	Owner        string
	LeaseUntil   time.Time
	StateItems   int
	HistoryItems int
	Turns        int
	Usage        agent.Usage
	Queue        []input2
	Output       string
	Failure      string
	CancelledBy  approvals.UserID
	Created      time.Time
	Updated      time.Time
	Ended        time.Time
}

type input2 struct {
	By      approvals.UserID
	Text    string
	At      time.Time
	Message string
}

type request2 struct {
	Workspace    approvals.WorkspaceID
	ID           approvals.RequestID
	Run          approvals.RunID
	Place        approvals.Place
	Requester    approvals.UserID
	Kind         agent.InterruptionKind
	Interruption string
	Agent        string
	Path         []string
	Tool         approvals.ToolSnapshot
	Arguments    []byte
	Definition   agent.Digest
	Digest       agent.Digest
	Requirement  requirement2
	Status       approvals.RequestStatus
	Version      int64
	Decisions    []approvals.Decision
	Note         string
	CancelledBy  approvals.UserID
	Applied      bool
	Created      time.Time
	Expires      time.Time
	Settled      time.Time
	Cards        []approvals.Card
	Facts        []string
	Explanation  []string
}

type requirement2 struct {
	Policy       string
	Approvers    approvals.Approvers
	Quorum       int
	DenyQuorum   int
	SelfApproval bool
	ExpiresIn    time.Duration
	OnExpiry     approvals.OnExpiry
	ValidFor     time.Duration
	Always       []approvals.Scope
}

type effect2 struct {
	Workspace approvals.WorkspaceID
	Run       approvals.RunID
	ID        string
	Request   approvals.RequestID
	Tool      string
	Digest    agent.Digest
	Attempt   int
	Epoch     int64
	Intent    time.Time
	Done      time.Time
	Output    *agent.ToolOutput
}

type job2 struct {
	Job struct {
		Workspace approvals.WorkspaceID
		Kind      approvals.JobKind
		ID        string
		Due       time.Time
		Place     *approvals.Place
		Attempts  int
	}
	Gen       uint64
	DueTimes  []dueTime
	NotBefore time.Time
}

// codecs2 has the codecs of these types.
var codecs2 = newCodecs(run2{}, request2{}, effect2{}, job2{})

// decode2 reads a record of format 2.
func (t *tx) decode2(k, v []byte, record any) error {
	payload, err := cutChecksum(k, v)
	if err == nil {
		into := reflect.ValueOf(record).Elem()
		err = codecs2[into.Type()].read(payload, into)
	}
	if err != nil {
		return t.damaged(err)
	}
	return nil
}

func (t *tx) effectFrom2(k, v []byte) error {
	var old effect2
	if err := t.decode2(k, v, &old); err != nil {
		return err
	}
	return t.put(bucketEffects, k, &approvals.EffectRecord{
		Workspace: old.Workspace, Run: old.Run, ID: old.ID, Authority: approvals.Authority{Request: old.Request},
		Tool: old.Tool, Digest: old.Digest, Attempt: old.Attempt, Epoch: old.Epoch,
		Intent: old.Intent, Done: old.Done, Output: old.Output,
	})
}

// runFrom2 brings a run, or a request behind its run.
func (t *tx) runFrom2(k, v []byte) error {
	if countParts(k) == 3 {
		return t.requestFrom2(k, v)
	}
	var old run2
	if err := t.decode2(k, v, &old); err != nil {
		return err
	}
	r := &approvals.Run{
		Workspace: old.Workspace, ID: old.ID, Place: old.Place, Agent: old.Agent, Requester: old.Requester,
		Input: old.Input, Status: old.Status, Version: old.Version, Epoch: old.Epoch,
		Owner: old.Owner, LeaseUntil: old.LeaseUntil,
		StateItems: old.StateItems, HistoryItems: old.HistoryItems, Turns: old.Turns, Usage: old.Usage,
		Queued: len(old.Queue), Output: old.Output, Failure: old.Failure, CancelledBy: old.CancelledBy,
		Created: old.Created, Updated: old.Updated, Ended: old.Ended,
	}
	for i, in := range old.Queue {
		next := &approvals.QueuedInput{Workspace: old.Workspace, Place: old.Place, ID: inputID2(old.Queue, i),
			By: in.By, Text: in.Text, At: in.At, Message: in.Message}
		if err := t.put(bucketInputs, inputKey(next), next); err != nil {
			return err
		}
	}
	facts := factsOf(r)
	return errors.Join(t.put(bucketRuns, k, r), t.reindex(nil, facts.entries()))
}

// inputID2 returns the id of a message that had none. It is made as the program makes ids, of the time of arrival of
// the queue's first message and a number, but without a random part: it sorts before the ids of messages that are
// still to come, and is the same when the migration is repeated.
func inputID2(queue []input2, i int) approvals.InputID {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(queue[0].At.UnixMicro())<<8)
	binary.BigEndian.PutUint16(b[7:], uint16(i))
	digits := base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)
	return approvals.InputID("inp_" + digits.EncodeToString(b[:]))
}

func (t *tx) requestFrom2(k, v []byte) error {
	var old request2
	if err := t.decode2(k, v, &old); err != nil {
		return err
	}
	r := &approvals.Request{
		RequestHead: approvals.RequestHead{
			Workspace: old.Workspace, ID: old.ID, Run: old.Run, Place: old.Place, Requester: old.Requester,
			Kind: old.Kind, Interruption: old.Interruption, Agent: old.Agent, Path: old.Path, Tool: old.Tool,
			Definition: old.Definition, Digest: old.Digest, Requirement: old.Requirement.current(),
			Status: old.Status, Version: old.Version, Decisions: old.Decisions, Note: old.Note,
			CancelledBy: old.CancelledBy, Applied: old.Applied, Created: old.Created, Expires: old.Expires,
			Settled: old.Settled, Cards: old.Cards,
		},
		RequestContent: approvals.RequestContent{
			Arguments: old.Arguments, Facts: old.Facts, Explanation: old.Explanation,
		},
	}
	if r.Status == approvals.RequestPending {
		r.NextAct = r.Expires
	}
	return errors.Join(t.put(bucketRuns, k, &r.RequestHead), t.put(bucketContents, k, &r.RequestContent),
		t.reindexPending(pendingFacts{}, pendingOf(&r.RequestHead)))
}

func (q requirement2) current() approvals.Requirement {
	return approvals.Requirement{
		Policy: q.Policy, Seats: approvals.Quorum(max(q.Quorum, 1), q.Approvers), DenyQuorum: q.DenyQuorum,
		SelfApproval: q.SelfApproval, ExpiresIn: q.ExpiresIn, OnExpiry: q.OnExpiry,
		ValidFor: q.ValidFor, Always: q.Always,
	}
}

// workFrom2 brings a job that is due, or a notification.
func (t *tx) workFrom2(k, v []byte) error {
	_, rest, _ := cutPart(k)
	_, rest, _ = cutPart(rest)
	part, _, _ := cutPart(rest)
	if part == "j" {
		return t.jobFrom2(bucketWork2, bucketQueue, k, v)
	}
	n := new(approvals.Notification)
	if err := t.decode(bucketWork2, k, v, n); err != nil {
		return err
	}
	return errors.Join(t.put(bucketQueue, notificationKey(n), n), t.drop(bucketWork2, k))
}

func (t *tx) laterFrom2(k, v []byte) error { return t.jobFrom2(bucketLater2, bucketScheduled, k, v) }

func (t *tx) jobFrom2(from, to, k, v []byte) error {
	var old job2
	if err := t.decode2(k, v, &old); err != nil {
		return err
	}
	j := old.Job
	rec := &jobRecord{
		Job: approvals.Job{Workspace: j.Workspace, Kind: j.Kind, ID: j.ID, Due: j.Due, Place: j.Place,
			Attempts: j.Attempts, Generation: old.Gen},
		First: 1, DueTimes: old.DueTimes, NotBefore: old.NotBefore,
	}
	queue := t.btx.Bucket(bucketQueue)
	if queue.Sequence() < old.Gen {
		if err := queue.SetSequence(old.Gen); err != nil {
			return err
		}
	}
	if string(to) == string(bucketScheduled) {
		due := dueKey(&rec.Job)
		if err := errors.Join(t.mark(bucketScheduledDue, due), t.drop(bucketLaterDue2, due)); err != nil {
			return err
		}
	}
	next := jobKey(j.Workspace, j.Kind, j.ID)
	return errors.Join(t.put(to, next, rec), t.drop(from, k))
}
