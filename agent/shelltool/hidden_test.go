//go:build unix

package shelltool_test

import (
	"strings"
	"testing"

	"countersign/agent/shelltool"
)

// TestSecretsOfTheEnvironment has commands print their environment, whole, in JSON, and cut.
func TestSecretsOfTheEnvironment(t *testing.T) {
	t.Parallel()
	for _, native := range []bool{false, true} {
		tool := newTool(t, shelltool.Config{
			MaxOutput: 400, Native: native,
			Env:        map[string]string{"TOKEN": "tok-4711-hunter2", "LEVEL": "information"},
			WrittenEnv: map[string]string{"TOKEN": "tok-${SECRET}", "LEVEL": "information"},
		})
		for _, s := range []string{
			"env", `echo "{\"said\": \"$TOKEN\"}" $LEVEL`, "env >&2",
			`printf '%s' $LEVEL; head -c 180 /dev/zero | tr '\0' x; printf '%s' "$TOKEN"; ` +
				`head -c 4000 /dev/zero | tr '\0' x`,
			`head -c 4000 /dev/zero | tr '\0' x; printf '%s' "$TOKEN"; ` +
				`head -c 180 /dev/zero | tr '\0' x; printf '%s' $LEVEL`,
		} {
			c := script(s)
			if native {
				c = call(map[string][]string{"commands": {s}})
			}
			out := invoke(t, tool, c)
			for _, text := range []string{out.Text, string(out.Native)} {
				if strings.Contains(text, "4711") || strings.Contains(text, "hunter2") {
					t.Errorf("%s: %s", s, text)
				}
			}
			if !strings.Contains(out.Text, "information") {
				t.Errorf("%s: control: what is no secret is hidden: %s", s, out.Text)
			}
		}
	}
}
