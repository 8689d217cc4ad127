package openaimodel

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"countersign/agent"
	"countersign/agent/internal/strictjson"
)

// How long an id of a call OpenAI takes. Other servers make longer ones, and a conversation may go on elsewhere; so
// does OpenAI itself at times.
const (
	maxCallID     = 64
	maxChatCallID = 40
)

// sentCallID is the id under which a call and its output are sent where ids may be so long.
func sentCallID(id string, limit int) string {
	if len(id) <= limit {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:16])
}

// maxCallName is how long a name OpenAI takes.
const maxCallName = 64

// sentCallName is the name under which a call is sent. A model may call what no tool can be called, and has read that
// there is no such tool; OpenAI refuses to be sent such a name.
func sentCallName(name string) string {
	name = strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' {
			return c
		}
		return '_'
	}, name)
	if name == "" {
		return "_"
	}
	return name[:min(len(name), maxCallName)]
}

// sentItem is an item of the Responses API as it goes back: byte for byte, but for ids and names of calls that OpenAI
// refuses. Of an approval the id is the request's, which the provider has made.
func sentItem(it *agent.Item) []byte {
	wire := it.Wire()
	if it.Type == agent.ItemMCPApprovalRequest || it.Type == agent.ItemMCPApprovalResponse {
		return wire
	}
	if id := sentCallID(it.CallID, maxCallID); id != it.CallID {
		wire = withText(wire, "call_id", id)
	}
	if it.Type == agent.ItemFunctionCall {
		if name := sentCallName(it.Name); name != it.Name {
			wire = withText(wire, "name", name)
		}
	}
	return wire
}

// withText is the object with the text for the member; an object that cannot be read stays as it is.
func withText(object []byte, name, text string) []byte {
	changed, err := strictjson.Set(object, name, strictjson.AppendQuoted(nil, text))
	if err != nil {
		return object
	}
	return changed
}
