package bot

import "testing"

// isReady reports whether a channel of Bot.Ready says that the bot is ready.
func isReady(ready <-chan struct{}) bool {
	select {
	case <-ready:
		return true
	default:
		return false
	}
}

func TestReadiness(t *testing.T) {
	t.Parallel()
	var r readiness
	first := r.channel()
	if isReady(first) {
		t.Error("ready from the start")
	}
	r.set(true)
	r.set(true)
	if !isReady(first) || !isReady(r.channel()) {
		t.Error("nobody is told")
	}
	r.set(false)
	r.set(false)
	second := r.channel()
	if isReady(second) {
		t.Error("ready although it has ceased to be")
	}
	r.set(true)
	if !isReady(second) {
		t.Error("who waits for the second time is not told")
	}
}
