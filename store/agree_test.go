package store

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"countersign/approvals"
	"countersign/internal/pgdev"
	"countersign/store/boltstore"
	"countersign/store/pgstore"
	"countersign/store/storetest"
)

// TestStoresAgree has the two stores do the same, and say the same, with ids, times and limits that a comparison of
// each with a model does not draw.
func TestStoresAgree(t *testing.T) {
	t.Parallel()
	times := 3
	if *long {
		times = 100
	}
	database := pgdev.Start(t).Database(t)
	var schemas atomic.Int64
	storetest.Agree(t, times, func(t testing.TB) (file, server storetest.Harness) {
		path := filepath.Join(t.TempDir(), fmt.Sprintf("%d.db", schemas.Add(1)))
		file.Open = func() approvals.Store {
			s, err := boltstore.Open(path, boltstore.Config{})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		url := fmt.Sprintf("%s&schema=s%d", database, schemas.Load())
		server.Open = func() approvals.Store {
			s, err := pgstore.Open(t.Context(), url, pgstore.Config{})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		return file, server
	})
}
