package approvals

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"time"

	"countersign/agent"
)

// ViaCallback is the way of results that a system outside reports by its one-time callback.
const ViaCallback = "callback"

// CallbackPrincipal is who gives the decision of such a result: no person, but the system that has the token. Surfaces
// name it, and nobody can decide in its name.
func CallbackPrincipal(ws WorkspaceID) UserID { return NewUserID(ws, "callback") }

// Callback is the permission to provide the result of one request once. Whoever has its token has it; the store knows
// a digest of the token alone. The newest one replaces those before it.
type Callback struct {
	Workspace WorkspaceID `json:"workspace"`
	Request   RequestID   `json:"request"`
	// Token is the SHA-256 of the token.
	Token agent.Digest `json:"token"`
	// Earlier are those of earlier sendings of the same call under the same key, of which the system may have taken one
	// and go by it: they count as Token does.
	Earlier []agent.Digest `json:"earlier,omitempty"`
	// Issuer is the person who had the token made; empty: it went out with the call, to what the trigger addresses.
	Issuer UserID    `json:"issuer,omitempty"`
	Issued time.Time `json:"issued"`
	// Told is when people were told of a result that was not taken: once for each token.
	Told time.Time `json:"told,omitzero"`
	// Refused is why a result was not taken, the last time that the trail says so: a system that goes on reporting
	// makes one entry for each reason.
	Refused string `json:"refused,omitempty"`
}

// CallbackAddress is what a system needs to report a result: where to, and the token to be sent as a bearer token.
type CallbackAddress struct {
	URL   string `json:"url"`
	Token string `json:"token"`
}

// CallbackIssue asks for the token of a callback: by whom, and which way, as in Decision.Via.
type CallbackIssue struct {
	Workspace WorkspaceID `json:"workspace"`
	Request   RequestID   `json:"request"`
	By        UserID      `json:"by"`
	Via       string      `json:"via"`
}

// CallbackResult is a result as a system reports it.
type CallbackResult struct {
	Workspace WorkspaceID
	Request   RequestID
	Token     string
	// Result is what the model is told, as data: at most MaxResult bytes of UTF-8.
	Result string

	shown string // Result as people are shown it
}

// MaxResult bounds a result that a system reports, in bytes.
const MaxResult = 16 << 10

// callbackBytes is how many random bytes a token has.
const callbackBytes = 32

// newToken returns a fresh token. Its beginning tells those who look for secrets in the wrong places what it is.
func newToken() string {
	var b [callbackBytes]byte
	rand.Read(b[:])
	return "cscb_" + base64.RawURLEncoding.EncodeToString(b[:])
}

// tokenDigest is what is stored of a token. A token is random, so that its digest need not be slow.
func tokenDigest(token string) agent.Digest { return sha256.Sum256([]byte(token)) }

// opens reports whether the token is the callback's. It takes the same time for every token. A callback that does not
// exist is the zero Callback.
func (k *Callback) opens(token string) bool {
	sum, found := tokenDigest(token), 0
	for _, one := range append([]agent.Digest{k.Token}, k.Earlier...) {
		found |= subtle.ConstantTimeCompare(sum[:], one[:])
	}
	return found == 1 && k.Token != agent.Digest{}
}

// callbackURL is where the results of a request arrive, below the program's public URL.
func callbackURL(public string, id RequestID) string { return public + "/callbacks/" + string(id) }
