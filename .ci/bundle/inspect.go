package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// maxSize bounds the files of the image, in bytes.
const maxSize = 100 << 20

// inspect checks an image against what the documentation says of it, and that its program is the one at path.
func inspect(w io.Writer, image, program string) error {
	img, err := readImage(image)
	if err != nil {
		return err
	}
	b, err := readBuild(program)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	return examine(w, img, b, data)
}

// readImage reads the one image of a tarball.
func readImage(path string) (v1.Image, error) {
	opener := func() (io.ReadCloser, error) { return os.Open(path) }
	manifest, err := tarball.LoadManifest(opener)
	if err != nil {
		return nil, err
	}
	if len(manifest) != 1 || len(manifest[0].RepoTags) != 1 {
		return nil, fmt.Errorf("%s holds %d images", path, len(manifest))
	}
	tag, err := name.NewTag(manifest[0].RepoTags[0])
	if err != nil {
		return nil, err
	}
	return tarball.Image(opener, &tag)
}

// examine says everything that is wrong.
func examine(w io.Writer, img v1.Image, b *build, program []byte) error {
	cfg, err := img.ConfigFile()
	if err != nil {
		return err
	}
	var wrong []error
	must := func(what string, got, want any) {
		if fmt.Sprint(got) != fmt.Sprint(want) {
			wrong = append(wrong, fmt.Errorf("%s is %v, not %v", what, got, want))
		}
	}
	c := cfg.Config
	must("the user", c.User, "65532:65532")
	must("the entrypoint", c.Entrypoint, []string{"/countersign"})
	must("the command", c.Cmd, []string{"run"})
	must("the version", c.Labels["org.opencontainers.image.version"], b.Version)
	must("the revision", c.Labels["org.opencontainers.image.revision"], b.Revision)
	must("the platform", cfg.OS+"/"+cfg.Architecture, b.OS+"/"+b.Arch)
	must("when it was made", cfg.Created.UTC(), b.Time.UTC())
	for _, env := range c.Env {
		if key, _, _ := strings.Cut(env, "="); strings.Contains(key, "TOKEN") || strings.Contains(key, "KEY") {
			wrong = append(wrong, fmt.Errorf("the environment sets %s", key))
		}
	}
	if c.Healthcheck == nil {
		wrong = append(wrong, errors.New("there is no health check"))
	}
	wrong = append(wrong, examineFiles(w, img, program)...)
	fmt.Fprintf(w, "user %s, entrypoint %q, command %q\nversion %s, revision %s, %s/%s\n", c.User, c.Entrypoint, c.Cmd,
		b.Version, b.Revision, cfg.OS, cfg.Architecture)
	return errors.Join(wrong...)
}

// examineFiles checks that the image holds the files that it should, and no other.
func examineFiles(w io.Writer, img v1.Image, program []byte) (wrong []error) {
	want := []string{"countersign"}
	for _, e := range base() {
		want = append(want, strings.TrimSuffix(e.name, "/"))
	}
	var names []string
	var size int64
	err := each(img, func(h *tar.Header, r io.Reader) error {
		n := strings.TrimSuffix(h.Name, "/")
		names, size = append(names, n), size+h.Size
		fmt.Fprintf(w, "  %s %5d:%d %10d /%s\n", h.FileInfo().Mode(), h.Uid, h.Gid, h.Size, n)
		if h.Typeflag == tar.TypeReg && h.Mode&0o111 != 0 && n != "countersign" {
			wrong = append(wrong, fmt.Errorf("/%s can be executed", n))
		}
		if h.Mode&0o6000 != 0 {
			wrong = append(wrong, fmt.Errorf("/%s runs as its owner", n))
		}
		if n != "countersign" {
			return nil
		}
		data, err := io.ReadAll(r)
		if err == nil && !bytes.Equal(data, program) {
			wrong = append(wrong, fmt.Errorf("/countersign is another program, %x", sha256.Sum256(data)))
		}
		return err
	})
	slices.Sort(names)
	slices.Sort(want)
	if !slices.Equal(names, want) {
		wrong = append(wrong, fmt.Errorf("the files are %q, not %q", names, want))
	}
	if size > maxSize {
		wrong = append(wrong, fmt.Errorf("it has %d bytes, more than %d", size, maxSize))
	}
	return append(wrong, err)
}

// each calls fn with the files of the image, as a container sees them.
func each(img v1.Image, fn func(*tar.Header, io.Reader) error) error {
	files := mutate.Extract(img)
	defer files.Close()
	r := tar.NewReader(files)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = fn(h, r)
		}
		if err != nil {
			return err
		}
	}
}

// unpack writes the files of an image into a new folder, with the owners that they have in it where that is allowed.
func unpack(image, dir string) error {
	img, err := readImage(image)
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	return each(img, func(h *tar.Header, r io.Reader) error {
		path := filepath.Join(dir, filepath.FromSlash(filepath.Clean("/"+h.Name)))
		if h.Typeflag == tar.TypeDir {
			if err := os.MkdirAll(path, 0o755); err != nil {
				return err
			}
		} else {
			data, err := io.ReadAll(r)
			if err != nil {
				return err
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				return err
			}
		}
		if os.Geteuid() == 0 {
			if err := os.Lchown(path, h.Uid, h.Gid); err != nil {
				return err
			}
		}
		return os.Chmod(path, h.FileInfo().Mode())
	})
}
