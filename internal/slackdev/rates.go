package slackdev

import "time"

// The limits are those of https://docs.slack.dev/apis/web-api/rate-limits: the tiers hold per method and workspace; of
// chat.postMessage an app may call about one a second for each channel, with short bursts, and "several hundred" a
// minute for the workspace.
const (
	postBurst     = 5   // in a channel within as many seconds
	postWorkspace = 300 // a minute
)

// rate is a limit: so many calls of one key within a window.
type rate struct {
	key    string
	limit  int
	window time.Duration
}

// rates are the limits that a call counts against.
func (w *Workspace) rates(name string, tier int, a args) []rate {
	minute := w.cfg.RateMinute
	if name == "chat.postMessage" {
		return []rate{
			{name + "/" + a.str("channel"), postBurst, postBurst * minute / 60}, {name, postWorkspace, minute},
		}
	}
	if w.cfg.FewReads && (name == "conversations.history" || name == "conversations.replies") {
		tier = 1
	}
	if tier == 0 {
		return nil
	}
	return []rate{{name, tier, minute}}
}

// throttle counts a call against its limits and returns how long to wait when it is too much for one of them. What is
// sent away does not count. w.mu is held.
func (w *Workspace) throttle(name string, tier int, a args) time.Duration {
	if !w.cfg.RateLimits {
		return 0
	}
	now, all := time.Now(), w.rates(name, tier, a)
	for _, r := range all {
		recent := w.limits[r.key]
		for len(recent) > 0 && now.Sub(recent[0]) > r.window {
			recent = recent[1:]
		}
		w.limits[r.key] = recent
		if len(recent) >= r.limit {
			return r.window - now.Sub(recent[0])
		}
	}
	for _, r := range all {
		w.limits[r.key] = append(w.limits[r.key], now)
	}
	return 0
}
