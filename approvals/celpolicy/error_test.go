package celpolicy

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestNoParserTexts shows that people never read the parser's own words, whatever they write.
func TestNoParserTexts(t *testing.T) {
	t.Parallel()
	token := rapid.SampledFrom([]string{
		"args", ".", "amount", ">", ">=", "=", "==", "&&", "&", "|", "||", "!", "(", ")", "[", "]", "{", "}", ",", ":",
		"?", "1", "1.5", "'x'", "'", "\"", "`", "true", "in", " ", "\n", "é", "#", "-", "+", "has", "all", "requester",
		"b'", "0x", "1e", "\\", "@", "if", "while", "1u",
	})
	rapid.Check(t, func(t *rapid.T) {
		expression := strings.Join(rapid.SliceOfN(token, 0, 8).Draw(t, "tokens"), "")
		_, err := CompileCondition(expression, nil)
		if err == nil {
			return
		}
		e, ok := errors.AsType[*Error](err)
		if !ok || len(e.Mistakes) == 0 {
			t.Fatalf("%q: %T: %v", expression, err, err)
		}
		if !utf8.ValidString(e.Error()) {
			t.Errorf("%q: cut inside a character: %q", expression, e.Error())
		}
		for _, raw := range []string{
			"Syntax error", "EOF", "expecting", "IDENTIFIER", "NUM_", "STRING", "viable", "token", "overload",
		} {
			if strings.Contains(e.Error(), raw) {
				t.Errorf("%q: %v", expression, e)
			}
		}
	})
}
