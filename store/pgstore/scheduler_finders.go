//go:build !riveralone && !sweepalone

package pgstore

// finders are the settings that say what finds jobs, where a test does not: everything does.
var finders = jobSettings{}
