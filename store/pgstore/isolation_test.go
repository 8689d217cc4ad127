package pgstore

import (
	"sync"
	"testing"
)

// TestWriteSkew has two replicas each write a record unless the other one's is there, in transactions that have both
// read before either writes. They are serializable: one of them runs again, and sees what the other has written.
func TestWriteSkew(t *testing.T) {
	t.Parallel()
	url := newURL(t)
	var read, all sync.WaitGroup
	read.Add(2)
	ids, runs := []string{"1", "2"}, make([]int, 2)
	var stores []*Store
	for i := range ids {
		s := openStore(t, url, Config{})
		stores = append(stores, s)
		all.Go(func() {
			err := s.update(t.Context(), func(tx *tx) error {
				runs[i]++
				_, there := tx.Effect("T1", "run_1", ids[1-i])
				if runs[i] == 1 {
					read.Done()
					read.Wait()
				}
				if there == nil {
					return nil
				}
				return writeEffect(ids[i])(tx)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if hasEffect(t, stores[0], "1") == hasEffect(t, stores[0], "2") || runs[0]+runs[1] < 3 {
		t.Errorf("written: %v and %v, after %v runs", hasEffect(t, stores[0], "1"), hasEffect(t, stores[0], "2"), runs)
	}
}
