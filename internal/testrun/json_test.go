package testrun

import "testing"

// TestHasMembers wants what is named, and takes more.
func TestHasMembers(t *testing.T) {
	t.Parallel()
	const got = `{"tool":"x","arguments":{"a":1},"id":"?"}`
	for want, has := range map[string]bool{
		`{}`: true, `{"tool":"x"}`: true, `{"arguments":{"a":1.0}}`: true, `{"arguments":{}}`: false,
		`{"tool":"y"}`: false, `{"other":null}`: false,
	} {
		if hasMembers([]byte(want), []byte(got)) != has {
			t.Errorf("%s: not %v", want, has)
		}
	}
	if hasMembers([]byte(`{}`), []byte(`[]`)) || hasMembers([]byte(`{}`), nil) {
		t.Error("what is no object has members")
	}
}

// TestSameJSON compares values, not texts, and takes no two amounts for the same.
func TestSameJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`{"a":1,"b":[true,null]}`, ` {"b":[true,null], "a":1.0}`, true},
		{`250`, `2.5e2`, true},
		{`9007199254740993`, `9007199254740993`, true},
		{`9007199254740993`, `9007199254740992`, false},
		{`0.1`, `0.10000000000000000001`, false},
		{`250`, `"250"`, false},
		{`{"a":1}`, `{"a":1,"b":null}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`1`, `1 1`, false},
		{`1`, ``, false},
		{`null`, `false`, false},
	} {
		if got := sameJSON([]byte(c.a), []byte(c.b)); got != c.same {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
	}
}
