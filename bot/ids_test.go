package bot

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

func TestIDsLookAsTheyShould(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		is      func(string) bool
		pattern string
	}{
		"user":       {isUserID, `[UW][A-Z0-9]{1,30}`},
		"group":      {isGroupID, `S[A-Z0-9]{1,30}`},
		"channel":    {isChannelID, `[CDG][A-Z0-9]{1,30}`},
		"team":       {isTeamID, `T[A-Z0-9]{1,30}`},
		"enterprise": {isEnterpriseID, `E[A-Z0-9]{1,30}`},
		"message":    {isMessageTS, `[0-9]{1,12}\.[0-9]{1,9}`},
		"request":    {isRequestID, `req_[0-9a-z]{26}`},
		"grant":      {isGrantID, `grant_[0-9a-z]{26}`},
	} {
		exact := regexp.MustCompile(`\A(?:` + c.pattern + `)\z`)
		near := rapid.OneOf(rapid.StringMatching(c.pattern), rapid.Custom(func(t *rapid.T) string {
			s := []byte(rapid.StringMatching(c.pattern).Draw(t, "id"))
			odd := rapid.SampledFrom([]byte("aAzZ09_. \n\x00/:@[`{\xff")).Draw(t, "odd")
			i := rapid.IntRange(0, len(s)).Draw(t, "at")
			switch rapid.IntRange(0, 2).Draw(t, "how") {
			case 0:
				return string(s[:i]) + string(odd) + string(s[i:])
			case 1:
				return string(s[:i])
			}
			s[i%len(s)] = odd
			return string(s)
		}))
		rapid.Check(t, func(t *rapid.T) {
			s := near.Draw(t, "s")
			if got, want := c.is(s), exact.MatchString(s); got != want {
				t.Fatalf("%s %q: %v", what, s, got)
			}
		})
	}
}
