package main

import (
	"debug/buildinfo"
	"encoding/json"
	"io"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

var program = []byte("the program")

func example() *build {
	info := &buildinfo.BuildInfo{GoVersion: "go1.26.0", Path: "countersign", Deps: []*debug.Module{
		{Path: "example.org/lib", Version: "v1.2.3", Sum: "h1:sum"},
		{Path: "example.org/old", Version: "v1.0.0", Replace: &debug.Module{Path: "example.org/new", Version: "v2.0.0"}},
	}}
	return &build{BuildInfo: info, Version: "v1.0.0+dirty", Revision: "abc", OS: "linux", Arch: "amd64",
		Time: time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)}
}

func built(t *testing.T, change func(b []entry) []entry) v1.Image {
	t.Helper()
	img, err := imageOf(example(), change(base()), []entry{{name: "countersign", mode: 0o755, data: program}})
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func asItIs(b []entry) []entry { return b }

// TestExamine shows that a good image passes, and that each fault is named.
func TestExamine(t *testing.T) {
	if err := examine(io.Discard, built(t, asItIs), example(), program); err != nil {
		t.Error(err)
	}
	config := func(change func(*v1.ConfigFile)) v1.Image {
		img := built(t, asItIs)
		cfg, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		cfg = cfg.DeepCopy()
		change(cfg)
		if img, err = mutate.ConfigFile(img, cfg); err != nil {
			t.Fatal(err)
		}
		return img
	}
	for want, img := range map[string]v1.Image{
		"the files are": built(t, func(b []entry) []entry {
			return append(b, entry{name: "note", mode: 0o644, data: []byte("x")})
		}),
		"/bin/sh can be executed": built(t, func(b []entry) []entry {
			return append(b, entry{name: "bin/sh", mode: 0o755, data: []byte("x")})
		}),
		"runs as its owner": built(t, func(b []entry) []entry {
			b[1].mode |= 0o4000
			return b
		}),
		"it has": built(t, func(b []entry) []entry {
			b[1].data = make([]byte, maxSize)
			return b
		}),
		"the user is":       config(func(c *v1.ConfigFile) { c.Config.User = "" }),
		"the entrypoint is": config(func(c *v1.ConfigFile) { c.Config.Entrypoint = []string{"/bin/sh"} }),
		"the revision is": config(func(c *v1.ConfigFile) {
			c.Config.Labels["org.opencontainers.image.revision"] = "def"
		}),
		"sets SLACK_BOT_TOKEN": config(func(c *v1.ConfigFile) {
			c.Config.Env = append(c.Config.Env, "SLACK_BOT_TOKEN=x")
		}),
		"no health check": config(func(c *v1.ConfigFile) { c.Config.Healthcheck = nil }),
	} {
		if err := examine(io.Discard, img, example(), program); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	err := examine(io.Discard, built(t, asItIs), example(), []byte("another program"))
	if err == nil || !strings.Contains(err.Error(), "is another program") {
		t.Errorf("another program: %v", err)
	}
}

// TestImageIsReproducible makes an image twice, and once of another program.
func TestImageIsReproducible(t *testing.T) {
	digest := func(b *build) string {
		img, err := imageOf(b, base())
		if err != nil {
			t.Fatal(err)
		}
		d, err := img.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return d.String()
	}
	later := example()
	later.Time = later.Time.Add(time.Second)
	if digest(example()) != digest(example()) {
		t.Error("two images of one program differ")
	}
	if digest(example()) == digest(later) {
		t.Error("control: images of two commits are the same")
	}
}

// TestUnpack writes an image to a file and unpacks it.
func TestUnpack(t *testing.T) {
	path, dir := filepath.Join(t.TempDir(), "image.tar"), filepath.Join(t.TempDir(), "root")
	ref, err := name.NewTag("countersign:" + tagOf(example().Version))
	if err != nil {
		t.Fatal(err)
	}
	if err := tarball.WriteToFile(path, ref, built(t, asItIs)); err != nil {
		t.Fatal(err)
	}
	if err := unpack(path, dir); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(dir, "etc", "ssl", "certs", "*"))
	if err != nil || len(found) != 1 {
		t.Error(found, err)
	}
	if n := strings.Count(string(certificates()), "BEGIN CERTIFICATE"); n < 50 {
		t.Errorf("%d certificates", n)
	}
}

func TestSBOM(t *testing.T) {
	doc := sbomOf(example(), "countersign", "00")
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"pkg:golang/example.org/lib@v1.2.3", "pkg:golang/example.org/new@v2.0.0", "h1:sum",
		"pkg:golang/stdlib@go1.26.0", "SPDX-2.3"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(string(text), "example.org/old") {
		t.Error("it lists what was replaced")
	}
	ids := map[string]bool{}
	for _, p := range doc.Packages {
		if ids[p.ID] {
			t.Errorf("two packages are called %s", p.ID)
		}
		ids[p.ID] = true
	}
	for _, r := range doc.Relationship[1:] {
		if !ids[r.Element] || !ids[r.Related] {
			t.Errorf("%+v is between packages that are not there", r)
		}
	}
}
