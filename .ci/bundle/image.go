package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"io"
	"os"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// The user that the program runs as. The image has no other.
const user = 65532

// entry is a file or folder of the image.
type entry struct {
	name  string
	mode  int64
	owner int
	data  []byte // nil: a folder
}

// base is all that the program needs around it. Time zones are within the program.
func base() []entry {
	return []entry{
		{name: "etc/", mode: 0o755},
		{name: "etc/passwd", mode: 0o644, data: []byte("nonroot:x:65532:65532:nonroot:/data:/none\n")},
		{name: "etc/group", mode: 0o644, data: []byte("nonroot:x:65532:\n")},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: certificates()},
		{name: "tmp/", mode: 0o1777},
		{name: "data/", mode: 0o700, owner: user},
	}
}

// certificates are the roots that Mozilla trusts, in the version that go.sum pins. Those that it trusts only in part are
// left out: a file cannot say so.
func certificates() []byte {
	var all bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			pem.Encode(&all, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	return all.Bytes()
}

func makeImage(program, out string) error {
	b, err := readBuild(program)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	img, err := imageOf(b, base(), []entry{{name: "countersign", mode: 0o755, data: data}})
	if err != nil {
		return err
	}
	ref, err := name.NewTag("countersign:"+tagOf(b.Version), name.WithDefaultRegistry(""))
	if err != nil {
		return err
	}
	return tarball.WriteToFile(out, ref, img)
}

// tagOf is the version with what a tag cannot have replaced.
func tagOf(version string) string {
	return string(bytes.ReplaceAll([]byte(version), []byte("+"), []byte("-")))
}

// imageOf makes an image of layers. It says the same for the same program: every time in it is that of the commit.
func imageOf(b *build, layers ...[]entry) (v1.Image, error) {
	img := empty.Image
	for _, entries := range layers {
		packed, err := pack(entries, b.Time)
		if err != nil {
			return nil, err
		}
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(packed)), nil
		})
		if err != nil {
			return nil, err
		}
		if img, err = mutate.Append(img, mutate.Addendum{
			Layer: layer, History: v1.History{Created: v1.Time{Time: b.Time}, CreatedBy: "countersign .ci/bundle"},
		}); err != nil {
			return nil, err
		}
	}
	return mutate.ConfigFile(img, configOf(b, img))
}

// configOf is what the Dockerfile says too.
func configOf(b *build, img v1.Image) *v1.ConfigFile {
	cfg, err := img.ConfigFile()
	if err != nil {
		panic(err) // it was made here
	}
	cfg = cfg.DeepCopy()
	cfg.OS, cfg.Architecture, cfg.Created = b.OS, b.Arch, v1.Time{Time: b.Time}
	cfg.Config = v1.Config{
		User:       "65532:65532",
		Entrypoint: []string{"/countersign"},
		Cmd:        []string{"run"},
		WorkingDir: "/",
		Env: []string{
			"PATH=/",
			"SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt",
			"COUNTERSIGN_AGENTS=/etc/countersign/countersign.yaml",
			"COUNTERSIGN_STORE=bolt:/data/countersign.db",
			"COUNTERSIGN_LISTEN=0.0.0.0:8080",
			"COUNTERSIGN_LOG_FORMAT=json",
		},
		Volumes:      map[string]struct{}{"/data": {}},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		StopSignal:   "SIGTERM",
		Healthcheck: &v1.HealthConfig{
			Test: []string{"CMD", "/countersign", "healthcheck"}, Interval: 10 * time.Second, Timeout: 4 * time.Second,
			StartPeriod: 10 * time.Second, Retries: 3,
		},
		Labels: map[string]string{
			"org.opencontainers.image.title":    "countersign",
			"org.opencontainers.image.version":  b.Version,
			"org.opencontainers.image.revision": b.Revision,
			"org.opencontainers.image.created":  b.Time.Format(time.RFC3339),
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	return cfg
}

// pack makes a tar of entries.
func pack(entries []entry, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		h := &tar.Header{
			Name: e.name, Mode: e.mode, Uid: e.owner, Gid: e.owner, ModTime: at, Format: tar.FormatPAX,
			Typeflag: tar.TypeDir, Size: int64(len(e.data)),
		}
		if e.data != nil {
			h.Typeflag = tar.TypeReg
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.data); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), w.Close()
}
