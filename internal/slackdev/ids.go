package slackdev

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// idSource makes the identifiers Slack would make. The workspace's lock guards it.
type idSource struct {
	last    int64 // microseconds of the newest ts
	counter int
}

// ts returns a message timestamp larger than every earlier one.
func (s *idSource) ts() string {
	now := max(time.Now().UnixMicro(), s.last+1)
	s.last = now
	return fmt.Sprintf("%d.%06d", now/1e6, now%1e6)
}

// next returns a new identifier such as V0000000007XYZ.
func (s *idSource) next(prefix string) string {
	s.counter++
	return fmt.Sprintf("%s%08d%s", prefix, s.counter, strings.ToUpper(randomHex(2)))
}

// triggerID has the form of Slack's: number, number, secret.
func (s *idSource) triggerID() string {
	s.counter++
	return fmt.Sprintf("%d.%d.%s", time.Now().UnixMilli(), s.counter, randomHex(16))
}

func randomHex(bytes int) string {
	buf := make([]byte, bytes)
	rand.Read(buf)
	return hex.EncodeToString(buf)
}

// uuid returns a random version 4 UUID.
func uuid() string {
	buf := make([]byte, 16)
	rand.Read(buf)
	buf[6] = buf[6]&0x0f | 0x40
	buf[8] = buf[8]&0x3f | 0x80
	h := hex.EncodeToString(buf)
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}

// shortID fills in a missing block_id or action_id.
func shortID() string { return randomHex(3)[:5] }
