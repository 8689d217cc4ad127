package catalog

import (
	"regexp"

	"countersign/internal/agentsfile"
)

var (
	fromEnvironment = regexp.MustCompile(`\$\{(\w+)\}`)
	namesSecret     = regexp.MustCompile(`(?i)token|secret|passw|passphrase|credential|private|key|auth`)
)

// secret reports whether a text holds the value of an environment variable whose name says that it is a secret. Values
// of others, such as ENVIRONMENT, are evidence of what a policy went by, and recorded.
func secret(t agentsfile.Text) bool {
	if !t.Secret() {
		return false
	}
	for _, found := range fromEnvironment.FindAllStringSubmatch(t.Written, -1) {
		if namesSecret.MatchString(found[1]) {
			return true
		}
	}
	return false
}
