package seal

import "errors"

// Errors of stores that are opened with the wrong keys, or with none.
var (
	// ErrKeys is wrapped by what a store returns that needs keys which are not given.
	ErrKeys = errors.New("store is encrypted, and the keys given do not open it")
	// ErrPlain is wrapped by what a store returns that is not encrypted, although keys are given for it.
	ErrPlain = errors.New("store is not encrypted")
)
