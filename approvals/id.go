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
)

var idEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// newID returns prefix and 26 characters: 48 bits of milliseconds, 80 random bits. Ids made in one process within a
// millisecond are in no particular order.
func newID(prefix string, now time.Time) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(now.UnixMilli())<<16)
	rand.Read(b[6:])
	return prefix + idEncoding.EncodeToString(b[:])
}

// NewRunID returns a fresh id that sorts by now.
func NewRunID(now time.Time) RunID { return RunID(newID("run_", now)) }

// NewRequestID returns a fresh id that sorts by now.
func NewRequestID(now time.Time) RequestID { return RequestID(newID("req_", now)) }

// NewDecisionID returns a fresh id that sorts by now.
func NewDecisionID(now time.Time) DecisionID { return DecisionID(newID("dec_", now)) }

// NewNotificationID returns a fresh id that sorts by now.
func NewNotificationID(now time.Time) NotificationID { return NotificationID(newID("ntf_", now)) }
