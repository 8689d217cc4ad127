package bot

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Why a request does not count as Slack's, for operators. Whoever sent it learns nothing of it.
var (
	errUnsigned    = errors.New("it is not signed as Slack signs: somebody else sends requests to this address")
	errOtherSecret = errors.New("its signature is not made with this app's signing secret: if it is Slack's, set " +
		"SLACK_SIGNING_SECRET to the secret under Basic Information of the app")
	errOtherTime = errors.New("it is signed with this app's signing secret, but more than five minutes from now: set " +
		"this machine's clock, unless somebody sends old requests again")
)

// verify returns nil if the header holds Slack's signature of the body, made with the secret within maxSkew of now.
func verify(secret string, h http.Header, body []byte, now time.Time) error {
	stamp := h.Get("X-Slack-Request-Timestamp")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	sum, ok := strings.CutPrefix(h.Get("X-Slack-Signature"), "v0=")
	got, unreadable := hex.DecodeString(sum)
	if err != nil || !ok || unreadable != nil || len(got) != sha256.Size {
		return errUnsigned
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + stamp + ":"))
	mac.Write(body)
	switch {
	case secret == "" || !hmac.Equal(got, mac.Sum(nil)):
		return errOtherSecret
	case now.Sub(time.Unix(seconds, 0)).Abs() > maxSkew:
		return errOtherTime
	}
	return nil
}

// refusalsTold is how often operators are told that requests are refused for the same reason.
const refusalsTold = time.Minute

// refusals counts refused requests by reason, so that whoever sends many does not fill the log. The zero value is
// ready.
type refusals struct {
	mu  sync.Mutex
	all map[error]tally
}

type tally struct {
	told time.Time
	n    int // since then
}

// note counts a request that is refused at now for why. It returns how many were since operators were told, with this
// one; 0: they need not be told yet.
func (r *refusals) note(why error, now time.Time) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[error]tally{}
	}
	t := r.all[why]
	t.n++
	if !t.told.IsZero() && now.Sub(t.told).Abs() < refusalsTold {
		r.all[why] = t
		return 0
	}
	r.all[why] = tally{told: now}
	return t.n
}
