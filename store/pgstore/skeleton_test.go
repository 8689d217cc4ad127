package pgstore

import (
	"os"
	"testing"

	"countersign/approvals"
	"countersign/internal/pgdev"
)

func TestMain(m *testing.M) {
	code := m.Run()
	pgdev.StopShared()
	os.Exit(code)
}

func TestOpen(t *testing.T) {
	url := pgdev.Start(t).Database(t)
	for range 2 {
		s, err := Open(t.Context(), url, Config{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Update(t.Context(), func(tx approvals.Tx) error { t.Log(tx.Now()); return nil }); err != nil {
			t.Error(err)
		}
		s.Close()
	}
}
