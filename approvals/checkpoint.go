package approvals

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"countersign/agent"
)

// ErrCheckpoint is returned for a checkpoint that does not hold: of another form, signed with another key, or not
// signed as it is.
var ErrCheckpoint = errors.New("the checkpoint does not hold")

// checkpointForm names the encoding that is signed.
const checkpointForm = "countersign.checkpoint/1"

// Checkpoint says, signed, how far the audit chain of a workspace had come at an instant. One that is kept outside of
// the store shows later that nothing up to it was removed or written anew; see VerifyOptions.Checkpoints.
type Checkpoint struct {
	Form      string       `json:"checkpoint"` // "countersign.checkpoint/1"
	Workspace WorkspaceID  `json:"workspace"`
	Seq       uint64       `json:"seq"`       // of the chain's newest entry: how many entries there were
	Head      agent.Digest `json:"head"`      // Hash of that entry
	At        time.Time    `json:"at"`        // on the store's clock
	Key       agent.Digest `json:"key"`       // KeyID of the key that has signed it
	Prev      agent.Digest `json:"prev"`      // Sum of the workspace's checkpoint before; zero for the first of a start
	Signature []byte       `json:"signature"` // ed25519; base64 in JSON
}

// NewCheckpoint signs that head is the newest entry of its workspace's chain. prev is the checkpoint before, if this
// process has made one.
func NewCheckpoint(head *AuditEntry, at time.Time, prev *Checkpoint, key ed25519.PrivateKey) *Checkpoint {
	c := &Checkpoint{
		Form: checkpointForm, Workspace: head.Workspace, Seq: head.Seq, Head: head.Hash, At: at.UTC(),
		Key: KeyID(key.Public().(ed25519.PublicKey)),
	}
	if prev != nil {
		c.Prev = prev.Sum()
	}
	c.Signature = ed25519.Sign(key, c.signed())
	return c
}

// KeyID names an audit key: the SHA-256 of the public key's 32 bytes.
func KeyID(key ed25519.PublicKey) agent.Digest { return sha256.Sum256(key) }

// signed is what the signature is over: the name of this encoding, and all other fields. Texts are preceded by their
// length; lengths, Seq and At (nanoseconds since 1970) are eight bytes, big endian.
func (c *Checkpoint) signed() []byte {
	b := appendText(make([]byte, 0, 256), checkpointForm)
	b = appendText(b, string(c.Workspace))
	b = binary.BigEndian.AppendUint64(b, c.Seq)
	b = append(b, c.Head[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(c.At.UnixNano()))
	b = append(b, c.Key[:]...)
	return append(b, c.Prev[:]...)
}

// Sum is the digest of the checkpoint with its signature, by which the next one continues it.
func (c *Checkpoint) Sum() agent.Digest { return sha256.Sum256(append(c.signed(), c.Signature...)) }

// Check returns nil when one of the keys has signed the checkpoint, else ErrCheckpoint with the reason.
func (c *Checkpoint) Check(keys ...ed25519.PublicKey) error {
	i := slices.IndexFunc(keys, func(k ed25519.PublicKey) bool { return KeyID(k) == c.Key })
	switch {
	case c.Form != checkpointForm:
		return fmt.Errorf("%w: %q is not a form that this version knows", ErrCheckpoint, c.Form)
	case c.Workspace == "" || c.Seq == 0:
		return fmt.Errorf("%w: it is about no entry", ErrCheckpoint)
	case i < 0:
		return fmt.Errorf("%w: it names the key %.16s…, which is none of those given", ErrCheckpoint, c.Key)
	case !ed25519.Verify(keys[i], c.signed(), c.Signature):
		return fmt.Errorf("%w: it is not signed with the key %.16s… that it names: it was forged or altered",
			ErrCheckpoint, c.Key)
	}
	return nil
}

// Line returns the checkpoint as one line of JSON, without the line break.
func (c *Checkpoint) Line() ([]byte, error) {
	line, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("checkpoint of %s: %w", c.Workspace, err)
	}
	return line, nil
}
