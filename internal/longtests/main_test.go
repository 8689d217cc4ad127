package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLongTests finds the tests that read the flag, also through functions, and no others.
func TestLongTests(t *testing.T) {
	got, err := longTests("testdata/pkg")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"TestCallsWhatReads", "TestReads"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestMethodThatReadsTheFlag is refused: a test that calls it would be left out in silence.
func TestMethodThatReadsTheFlag(t *testing.T) {
	if got, err := longTests("testdata/method"); err == nil || !strings.Contains(err.Error(), "rounds") {
		t.Errorf("%q, %v", got, err)
	}
}
