package bot

import (
	"log/slog"
	"sync"
)

// standing is whether Slack takes the bot token: a token can end while the bot runs.
type standing struct {
	log *slog.Logger

	mu      sync.Mutex
	refused string // Slack's word; empty while it takes the token
	watched []func(refused bool)
}

// watch calls tell at every change, one after the other.
func (s *standing) watch(tell func(refused bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watched = append(s.watched, tell)
}

// heard takes note of an answer to a call with the bot token: of its error word, which is empty when all is well.
func (s *standing) heard(method, word string) {
	if word != "" && !endsToken(word) {
		return // about something else, which tells nothing of the token
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if was := s.refused; (was == "") == (word == "") {
		return
	}
	s.refused = word
	if word == "" {
		s.log.Info("Slack takes the bot token again")
	} else {
		s.log.Error("Slack refuses the bot token: nothing can be shown or decided in Slack; "+
			"put a good one into SLACK_BOT_TOKEN and start the bot again", "reason", word, "method", method)
	}
	for _, tell := range s.watched {
		tell(word != "")
	}
}

// endsToken reports whether Slack's word means that it takes no call with the token any more, and not that it refuses
// one method.
func endsToken(word string) bool {
	switch word {
	case "invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "org_login_required",
		"ekm_access_denied", "team_access_not_granted", "two_factor_setup_required", "team_disabled",
		"user_removed_from_team":
		return true
	}
	return false
}
