package bot

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzMembersOf: an object is taken apart as encoding/json does it, and what is no object is not.
func FuzzMembersOf(f *testing.F) {
	for _, s := range []string{
		`{}`, ` {"a":1, "b" : "x\"y" ,"c":[1,{"d":"}"}],"d":{"e":"\\"}}` + "\n", `{"a":1,"a":2}`, `{"\u0061b\n":null}`,
		"{\"\xff\":true}", `[]`, `"a"`, ``, `{`, `{"a"}`, `{"a":}`, `{"a":1`, `{"a":1,}`, `{"a":1}x`, `{a:1}`, `{"a":-1e5}`,
		`null`, `{"a":"\ud800"}`, `{"":""}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, wantOK := decodedMembers([]byte(s))
		got, ok := membersOf(json.RawMessage(s))
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(member{})); diff != "" || ok != wantOK {
			t.Errorf("membersOf(%q): ok %v, encoding/json says %v (-encoding/json +membersOf):\n%s", s, ok, wantOK, diff)
		}
	})
}

func decodedMembers(object []byte) (all []member, ok bool) {
	if !json.Valid(object) {
		return nil, false
	}
	dec := json.NewDecoder(bytes.NewReader(object))
	if first, err := dec.Token(); err != nil || first != json.Delim('{') {
		return nil, false
	}
	for dec.More() {
		token, err := dec.Token()
		name, isName := token.(string)
		var value json.RawMessage
		if err != nil || !isName || dec.Decode(&value) != nil {
			return nil, false
		}
		all = append(all, member{name, value})
	}
	return all, true
}
