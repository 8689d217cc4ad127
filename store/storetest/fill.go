package storetest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"countersign/approvals"
)

const (
	ws    approvals.WorkspaceID = "T1"
	other approvals.WorkspaceID = "T11" // ws is a prefix of it
)

var place = approvals.Place{Surface: "slack", Channel: "C1", Thread: "1700000000.000100"}

// now is a time that every store can keep: whole microseconds, UTC.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// filled returns a record in which every field that is stored holds a value of its own, fields added later included.
func filled[T any](salt int) *T {
	v := new(T)
	n := salt * 1000
	fill(reflect.ValueOf(v).Elem(), &n)
	return v
}

func fill(v reflect.Value, n *int) {
	*n++
	switch v.Interface().(type) {
	case json.RawMessage:
		v.SetBytes(fmt.Appendf(nil, `{"n":%d}`, *n))
		return
	case time.Time:
		v.Set(reflect.ValueOf(time.UnixMicro(1_700_000_000_000_000 + int64(*n)).UTC()))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("s%d", *n))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Uint64:
		v.SetUint(uint64(*n))
	case reflect.Uint8:
		v.SetUint(uint64(*n % 251))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("json") != "-" {
				fill(v.Field(i), n)
			}
		}
	default:
		panic(fmt.Sprintf("storetest cannot fill a %s", v.Type()))
	}
}

// spoil changes everything that v is made of, also what it refers to.
func spoil(v reflect.Value) {
	if _, ok := v.Interface().(time.Time); ok {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("spoiled")
	case reflect.Int, reflect.Int64:
		v.SetInt(-1)
	case reflect.Uint8:
		v.SetUint('X')
	case reflect.Pointer:
		if !v.IsNil() {
			spoil(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			spoil(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			spoil(v.Field(i))
		}
	}
}

// diff compares records; nil and empty lists are the same.
func diff(want, got any) string { return cmp.Diff(want, got, cmpopts.EquateEmpty()) }

func request(id approvals.RequestID, status approvals.RequestStatus) *approvals.Request {
	return &approvals.Request{
		RequestHead: approvals.RequestHead{Workspace: ws, ID: id, Run: "run_1", Place: place, Requester: "T1/U1",
			Status: status, Created: now()},
		RequestContent: approvals.RequestContent{Arguments: json.RawMessage(`{}`)},
	}
}

// head is the head of such a request.
func head(id approvals.RequestID, status approvals.RequestStatus) *approvals.RequestHead {
	return &request(id, status).RequestHead
}

func run(id approvals.RunID, status approvals.RunStatus) *approvals.Run {
	return &approvals.Run{Workspace: ws, ID: id, Place: place, Requester: "T1/U1", Status: status, Created: now(),
		Updated: now()}
}

func input(id approvals.InputID) *approvals.QueuedInput {
	return &approvals.QueuedInput{Workspace: ws, Place: place, ID: id, By: "T1/U1", Text: "and then?", At: now()}
}

func notification(id approvals.NotificationID) *approvals.Notification {
	return &approvals.Notification{Workspace: ws, ID: id, Kind: approvals.NotifyNotice, Place: place, Created: now()}
}

// copyFor is a notification for one more audience.
func copyFor(audience approvals.Copy, id approvals.NotificationID) *approvals.Notification {
	n := notification(id)
	n.Copy = audience
	return n
}

// dead is a notification that was given up.
func dead(id approvals.NotificationID) *approvals.Notification {
	n := notification(id)
	n.Dead, n.Why = now(), "no such channel"
	return n
}

// entry is a sealed entry of the audit trail's first form, which has no ID.
func entry(seq uint64) *approvals.AuditEntry {
	return &approvals.AuditEntry{Workspace: ws, Seq: seq, At: now(), Action: approvals.AuditDecision, Actor: "system"}
}

// unsealed is an entry that is to be sealed later.
func unsealed(id approvals.AuditID) *approvals.AuditEntry {
	e := entry(0)
	e.ID = id
	return e
}

// sealed is the sealed form of such an entry.
func sealed(id approvals.AuditID, seq uint64) *approvals.AuditEntry {
	e := unsealed(id)
	e.Seq = seq
	return e
}

func effect(id string) *approvals.EffectRecord {
	return &approvals.EffectRecord{Workspace: ws, Run: "run_1", ID: id, Tool: "pay", Attempt: 1, Intent: now()}
}

// idsOf names the records of a list.
func idsOf[T, ID any](list []T, id func(T) ID) []ID {
	var ids []ID
	for _, record := range list {
		ids = append(ids, id(record))
	}
	return ids
}

func runID(r *approvals.Run) approvals.RunID                            { return r.ID }
func headID(r *approvals.RequestHead) approvals.RequestID               { return r.ID }
func notificationID(n *approvals.Notification) approvals.NotificationID { return n.ID }
func auditID(e *approvals.AuditEntry) approvals.AuditID                 { return e.ID }
func inputID(in *approvals.QueuedInput) approvals.InputID               { return in.ID }
