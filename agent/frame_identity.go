package agent

import (
	"encoding/hex"
	"net/url"
	"strconv"
	"strings"
)

// interruptionID names a call in its run: the path of agents, the turn, the provider's call id, joined by slashes.
// Everything but plain letters in the parts is escaped, so that two different calls never share an id, whatever a
// provider puts into its call ids.
func interruptionID(path []string, turn int, callID string) string {
	var b strings.Builder
	for _, name := range path {
		b.WriteString(url.PathEscape(name))
		b.WriteByte('/')
	}
	b.WriteString(strconv.Itoa(turn))
	b.WriteByte('/')
	b.WriteString(url.PathEscape(callID))
	return b.String()
}

// effectID names one execution. It depends on nothing but its arguments, so it is the same after every restart.
func effectID(runID string, path []string, turn int, callID string) string {
	h := newParts("countersign.effect/1")
	h.add(runID)
	h.count(len(path))
	for _, name := range path {
		h.add(name)
	}
	h.count(turn)
	h.add(callID)
	sum := h.sum()
	return "eff_" + hex.EncodeToString(sum[:20])
}

// nestedEffectID names one execution inside the conversation that answers the call with the outer effect id.
func nestedEffectID(outer, agent string, turn int, callID string) string {
	h := newParts("countersign.effect/2")
	h.add(outer)
	h.add(agent)
	h.count(turn)
	h.add(callID)
	sum := h.sum()
	return "eff_" + hex.EncodeToString(sum[:20])
}
