package app

import (
	"path/filepath"
	"testing"

	"countersign/internal/pgdev"
	"countersign/store"
)

// TestReplicasOfAStore: whoever has opened a database learns how many others have it open; a file has nobody else.
func TestReplicasOfAStore(t *testing.T) {
	t.Parallel()
	if got := replicas(nil); got != 1 {
		t.Errorf("before a store is open: %d replicas", got)
	}
	for name, c := range map[string]struct {
		url  func() string
		want []int
	}{
		"a file":     {func() string { return "bolt:" + filepath.Join(t.TempDir(), "store.db") }, []int{1}},
		"a database": {func() string { return pgdev.Start(t).Database(t) }, []int{1, 2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			url := c.url()
			for _, want := range c.want {
				st, err := store.Open(t.Context(), url, store.Config{})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { st.Close() })
				if got := replicas(st); got != want {
					t.Errorf("%d replicas, want %d", got, want)
				}
			}
		})
	}
}
