package cli

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"countersign/approvals"
	"countersign/internal/app"
)

// checkpointFlags say which checkpoints a trail is held against.
type checkpointFlags struct {
	path string   // a file or a folder; empty: none
	keys []string // files of those who may have signed them
}

// readCheckpoints are the checkpoints that were found, by what they are worth.
type readCheckpoints struct {
	good       []approvals.Checkpoint
	bad        []badCheckpoint
	unreadable int
}

// badCheckpoint is one that does not hold, and why.
type badCheckpoint struct {
	approvals.Checkpoint
	err error
}

// read reads what the flags name, and nothing when they name nothing.
func (c *checkpointFlags) read() (found readCheckpoints, err error) {
	if c.path == "" {
		if len(c.keys) > 0 {
			return found, misused("--key is of the checkpoints that --checkpoints names")
		}
		return found, nil
	}
	keys, err := c.publicKeys()
	if err != nil {
		return found, err
	}
	files, err := checkpointFiles(c.path)
	if err != nil {
		return found, err
	}
	for _, name := range files {
		if err := found.add(name, keys); err != nil {
			return found, err
		}
	}
	if len(found.good)+len(found.bad) == 0 {
		return found, app.Misconfigured(fmt.Errorf("%s holds no checkpoint; they are lines that begin with "+
			`{"checkpoint":, as the bot writes them where COUNTERSIGN_AUDIT_CHECKPOINTS says`, c.path))
	}
	return found, nil
}

// publicKeys reads the keys that count: those of --key, or else the bot's own.
func (c *checkpointFlags) publicKeys() (keys []ed25519.PublicKey, err error) {
	names := c.keys
	if len(names) == 0 {
		cfg, err := app.ReadConfig()
		if err != nil {
			return nil, err
		}
		if cfg.AuditKey == "" {
			return nil, misused("say with --key FILE who may have signed the checkpoints: the public key, or set " +
				"COUNTERSIGN_AUDIT_KEY")
		}
		names = []string{cfg.AuditKey}
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, app.Misconfigured(fmt.Errorf("audit key: %w", err))
		}
		key, err := approvals.ParseAuditPublicKey(text)
		if err != nil {
			return nil, app.Misconfigured(fmt.Errorf("audit key %s: %w", name, err))
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// checkpointFiles returns the file, or the files of the folder.
func checkpointFiles(path string) (names []string, err error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, app.Misconfigured(fmt.Errorf("checkpoints: %w", err))
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoints: %w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	if names, err = filepath.Glob(filepath.Join(path, "*.jsonl")); err != nil {
		return nil, fmt.Errorf("checkpoints: %w", err)
	}
	slices.Sort(names)
	return names, nil
}

// add reads the checkpoints of a file.
func (r *readCheckpoints) add(name string, keys []ed25519.PublicKey) error {
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("checkpoints: %w", err)
	}
	defer f.Close()
	all, unreadable, err := approvals.ReadCheckpoints(f)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	r.unreadable += unreadable
	for _, c := range all {
		if err := c.Check(keys...); err != nil {
			r.bad = append(r.bad, badCheckpoint{c, err})
			continue
		}
		r.good = append(r.good, c)
	}
	return nil
}

// fault is the first checkpoint that does not hold, as what is wrong with a trail; nil when all do.
func (r *readCheckpoints) fault() *approvals.AuditError {
	if len(r.bad) == 0 {
		return nil
	}
	c := r.bad[0]
	return &approvals.AuditError{
		Workspace: c.Workspace, Seq: c.Seq, Kind: faultCheckpoint,
		Reason: fmt.Sprintf("the checkpoint of %s about it: %v", instantText(c.At), c.err),
	}
}

// faultCheckpoint says that a checkpoint does not hold, whatever the trail is.
const faultCheckpoint approvals.AuditFault = "checkpoint"
