package bot

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"sync"
	"time"
)

const (
	// stateLife is how long a person has for Slack's page; Slack's code lives as long.
	stateLife = 10 * time.Minute
	// mostStates bounds how many used states are remembered. Past it installations are refused for a while.
	mostStates = 100_000
	stateNonce = 16
)

// What is wrong with a state that comes back.
var (
	errStateForeign = errors.New("the state is not one that this bot gave this browser")
	errStateExpired = errors.New("the state has expired")
	errStateUsed    = errors.New("the state was used before")
	errStateMany    = errors.New("too many installations at once")
)

// states makes and checks what goes to Slack's page and comes back: it proves that the browser that comes back is the
// one that set out, not long ago, for the first time. Nothing is remembered of one that does not come back. That a state
// was used at another process is found out when the installation is recorded: see Installation.Proof.
type states struct {
	key []byte // of all processes of the app

	mu   sync.Mutex
	used map[string]time.Time // until when it would be good
}

// newStates returns the states of the app with that secret: another process of it takes what this one has issued.
func newStates(clientSecret string) *states {
	mac := hmac.New(sha256.New, []byte(clientSecret))
	mac.Write([]byte("countersign: states of installations"))
	return &states{key: mac.Sum(nil), used: map[string]time.Time{}}
}

// issue returns a new state for the browser that has the cookie.
func (s *states) issue(cookie string) string {
	b := make([]byte, stateNonce, stateNonce+8+sha256.Size)
	rand.Read(b)
	b = binary.BigEndian.AppendUint64(b, uint64(time.Now().Add(stateLife).UnixMilli()))
	return base64.RawURLEncoding.EncodeToString(append(b, s.sum(b, cookie)...))
}

// sum is the signature of a state for the browser that has the cookie.
func (s *states) sum(body []byte, cookie string) []byte {
	browser := sha256.Sum256([]byte(cookie))
	mac := hmac.New(sha256.New, s.key)
	mac.Write(body)
	mac.Write(browser[:])
	return mac.Sum(nil)
}

// redeem checks a state that has come back with the cookie, uses it up, and returns its nonce. The signature is compared in constant time.
func (s *states) redeem(state, cookie string) (proof string, err error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(state)
	if err != nil || len(raw) != stateNonce+8+sha256.Size || cookie == "" {
		return "", errStateForeign
	}
	body, sum := raw[:stateNonce+8], raw[stateNonce+8:]
	if !hmac.Equal(sum, s.sum(body, cookie)) {
		return "", errStateForeign
	}
	expires := time.UnixMilli(int64(binary.BigEndian.Uint64(body[stateNonce:])))
	now := time.Now()
	if !now.Before(expires) {
		return "", errStateExpired
	}
	proof = hex.EncodeToString(body[:stateNonce])
	return proof, s.use(proof, expires, now)
}

func (s *states) use(nonce string, expires, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, again := s.used[nonce]; again {
		return errStateUsed
	}
	if len(s.used) >= mostStates {
		for old, until := range s.used {
			if !now.Before(until) {
				delete(s.used, old)
			}
		}
	}
	if len(s.used) >= mostStates {
		return errStateMany
	}
	s.used[nonce] = expires
	return nil
}
