package app

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"regexp"
	"syscall"

	"countersign/approvals"
	"countersign/store"
)

// checkAudit judges where signed checkpoints of the audit trail go, and the key that signs them.
func (c *Config) checkAudit(p *problems) {
	switch {
	case c.AuditKey == "" && c.AuditCheckpoints == "":
		return
	case c.AuditCheckpoints == "":
		p.add("COUNTERSIGN_AUDIT_CHECKPOINTS is not set, but COUNTERSIGN_AUDIT_KEY is; " +
			"name a folder or a Slack channel that receives the checkpoints, or unset both")
	case c.AuditKey == "":
		p.add("COUNTERSIGN_AUDIT_KEY is not set, but COUNTERSIGN_AUDIT_CHECKPOINTS is; " +
			"name the file of an ed25519 key (openssl genpkey -algorithm ed25519 -out audit.pem), or unset both")
	}
	if c.AuditKey != "" {
		if _, err := c.signingKey(); err != nil {
			p.add("COUNTERSIGN_AUDIT_KEY: %w", err)
		}
	}
	if c.AuditCheckpoints != "" && c.checkpointChannel() == "" {
		if err := c.checkFolder(); err != nil {
			p.add("COUNTERSIGN_AUDIT_CHECKPOINTS: %w", err)
		}
	}
}

// signingKey reads the key that signs checkpoints. Nobody else may read it.
func (c *Config) signingKey() (ed25519.PrivateKey, error) {
	f, err := os.OpenFile(c.AuditKey, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe is refused, and not waited for
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	switch mode := info.Mode(); {
	case !mode.IsRegular():
		return nil, fmt.Errorf("%s is no file", c.AuditKey)
	case mode.Perm()&0o077 != 0:
		return nil, fmt.Errorf("others can read or change %s (%s); chmod 600 it, and if they could have read it, "+
			"make a new key", c.AuditKey, mode.Perm())
	case info.Size() > maxKeyFile:
		return nil, fmt.Errorf("%s is too large for a key", c.AuditKey)
	}
	text := make([]byte, info.Size())
	if _, err := f.ReadAt(text, 0); err != nil {
		return nil, err
	}
	key, err := approvals.ParseAuditKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.AuditKey, err)
	}
	return key, nil
}

const maxKeyFile = 64 << 10

// channelID is what Slack's ids of channels look like.
var channelID = regexp.MustCompile(`^[CG][A-Z0-9]{2,}$`)

// checkpointChannel is the channel that checkpoints are posted in; empty: they go to a folder.
func (c *Config) checkpointChannel() string {
	if channelID.MatchString(c.AuditCheckpoints) {
		return c.AuditCheckpoints
	}
	return ""
}

// checkFolder refuses what is no folder. None is made: where another machine's is not mounted, the checkpoints would
// stay on this one.
func (c *Config) checkFolder() error {
	info, err := os.Stat(c.AuditCheckpoints)
	switch {
	case err != nil:
		return fmt.Errorf("%w; make the folder, or name a Slack channel by its id, such as C0123456789", err)
	case !info.IsDir():
		return fmt.Errorf("%s is no folder", c.AuditCheckpoints)
	}
	if c.StorePlace().Shared() {
		return nil
	}
	beside, err := os.Stat(store.Folder(c.StorePath()))
	if err == nil && os.SameFile(info, beside) {
		return errors.New("it is the folder of the store: whoever can write that could write the checkpoints too; " +
			"name one that belongs to somebody else, or is on another machine")
	}
	return nil
}
