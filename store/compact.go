package store

import (
	"context"
	"fmt"
	"strings"

	"countersign/store/boltstore"
)

// CompactConfig configures Compact; Compacted is what it has done.
type (
	CompactConfig = boltstore.CompactConfig
	Compacted     = boltstore.Compacted
)

// Compact gives the space of deleted records back and encrypts everything under the first key: see boltstore.Compact.
// Nobody may have the store open. A store that is no file of this program's gives ErrUnsupported.
func Compact(ctx context.Context, url string, cfg CompactConfig) (Compacted, error) {
	scheme, path, _ := strings.Cut(url, ":")
	if !strings.EqualFold(scheme, "bolt") || path == "" {
		return Compacted{}, fmt.Errorf("%w: only a file (bolt:PATH) can be compacted", ErrUnsupported)
	}
	return boltstore.Compact(ctx, path, cfg)
}
