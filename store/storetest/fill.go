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

// diff compares records; nil and empty lists are the same.
func diff(want, got any) string { return cmp.Diff(want, got, cmpopts.EquateEmpty()) }

func request(id approvals.RequestID, status approvals.RequestStatus) *approvals.Request {
	return &approvals.Request{Workspace: ws, ID: id, Run: "run_1", Place: place, Requester: "T1/U1",
		Arguments: json.RawMessage(`{}`), Status: status, Created: now()}
}

func run(id approvals.RunID, status approvals.RunStatus) *approvals.Run {
	return &approvals.Run{Workspace: ws, ID: id, Place: place, Requester: "T1/U1", Status: status, Created: now(), Updated: now()}
}

func notification(id approvals.NotificationID) *approvals.Notification {
	return &approvals.Notification{Workspace: ws, ID: id, Kind: approvals.NotifyNotice, Place: place, Created: now()}
}

func entry(seq uint64) *approvals.AuditEntry {
	return &approvals.AuditEntry{Workspace: ws, Seq: seq, At: now(), Action: approvals.AuditDecision, Actor: "system"}
}

func effect(id string) *approvals.EffectRecord {
	return &approvals.EffectRecord{Workspace: ws, Run: "run_1", ID: id, Tool: "pay", Attempt: 1, Intent: now()}
}
