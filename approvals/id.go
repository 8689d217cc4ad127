package approvals

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"strings"
	"time"
)

// WorkspaceID is the tenant: a Slack enterprise or team id. Every record and key starts with it.
type WorkspaceID string

// UserID is a person in a workspace, "workspace/user". Ids are the identity; names and e-mail addresses never are.
type UserID string

// NewUserID returns the id of the user in the workspace.
func NewUserID(ws WorkspaceID, user string) UserID { return UserID(string(ws) + "/" + user) }

// Workspace returns the workspace part.
func (u UserID) Workspace() WorkspaceID {
	ws, _, _ := strings.Cut(string(u), "/")
	return WorkspaceID(ws)
}

// Local returns the user part, as the surface knows it.
func (u UserID) Local() string {
	_, id, _ := strings.Cut(string(u), "/")
	return id
}

// The ids of records. Made ids sort by time of creation.
type (
	RunID          string // run_…
	RequestID      string // req_…
	DecisionID     string // dec_…
	NotificationID string // ntf_…
	InputID        string // inp_…
	AuditID        string // aud_…
)

var idEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// newID returns prefix and 26 characters: 56 bits of microseconds, 16 bits of seq, 56 random bits. Ids of one instant
// sort by seq.
func newID(prefix string, now time.Time, seq uint16) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(now.UnixMicro())<<8)
	binary.BigEndian.PutUint16(b[7:], seq)
	rand.Read(b[9:])
	id := idEncoding.AppendEncode(append(make([]byte, 0, 32), prefix...), b[:])
	return string(id)
}

// NewRunID returns a fresh id that sorts by now.
func NewRunID(now time.Time) RunID { return RunID(newID("run_", now, 0)) }

// NewRequestID returns a fresh id that sorts by now.
func NewRequestID(now time.Time) RequestID { return RequestID(newID("req_", now, 0)) }

// NewDecisionID returns a fresh id that sorts by now.
func NewDecisionID(now time.Time) DecisionID { return DecisionID(newID("dec_", now, 0)) }

// NewNotificationID returns a fresh id that sorts by now.
func NewNotificationID(now time.Time) NotificationID { return NotificationID(newID("ntf_", now, 0)) }
