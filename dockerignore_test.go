package main

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// patterns are those of an ignore file.
func patterns(t *testing.T, name string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			all = append(all, line)
		}
	}
	return all
}

// sentToBuilds reports whether `docker build` sends a file along: no pattern matches it, or a folder that it is in.
func sentToBuilds(t *testing.T, name string) bool {
	t.Helper()
	forms := strings.NewReplacer(`\*\*/`, `(.*/)?`, `\*`, `[^/]*`)
	return !slices.ContainsFunc(patterns(t, ".dockerignore"), func(pattern string) bool {
		return regexp.MustCompile("^" + forms.Replace(regexp.QuoteMeta(pattern)) + "(/|$)").MatchString(name)
	})
}

// TestSecretsAreNotSentToBuilds: the tokens, passwords and records that people have beside the source, where git
// ignores them, get into no layer and no cache of an image that is built from it.
func TestSecretsAreNotSentToBuilds(t *testing.T) {
	t.Parallel()
	secret := []string{
		"countersign.db", "countersign.db.before-restore-20261128T184000.000Z", "data/copy.db",
		"deploy/kubernetes/mine/countersign.env",
	}
	for _, folder := range []string{"deploy/compose", "deploy/kubernetes/trial"} {
		for _, name := range patterns(t, path.Join(folder, ".gitignore")) {
			secret = append(secret, path.Join(folder, name))
		}
	}
	if len(secret) < 8 {
		t.Fatalf("only %q", secret)
	}
	for _, name := range secret {
		if sentToBuilds(t, name) {
			t.Errorf("%s is sent along", name)
		}
	}
	for _, name := range []string{"main.go", "go.mod", ".gitignore", "examples/countersign.yaml",
		"deploy/compose/countersign.env.example", "deploy/grafana/provisioning/dashboards/countersign.yaml",
		"store/boltstore/testdata/format2.db.gz"} {
		if !sentToBuilds(t, name) {
			t.Errorf("%s is left out: the program would say that its source was changed", name)
		}
	}
}
