package agent

import (
	"encoding/json"
	"errors"
	"fmt"

	"countersign/agent/internal/strictjson"
)

var (
	errNoArguments = errors.New("arguments are empty; write {} when there are none")
	errNotObject   = errors.New("arguments must be a JSON object")
)

// CanonicalArguments reads the arguments of a call strictly and returns them in canonical form (RFC 8785). It refuses
// what two readers could understand differently: duplicate keys and keys that differ only in case, invalid UTF-8 and
// lone surrogates, numbers that a float64 cannot hold as written, nesting over 64, more than 1 MiB, anything after the
// object, and everything that is not an object. The error's text is made for the model to read.
func CanonicalArguments(data []byte) (json.RawMessage, error) {
	canonical, err := strictjson.Canonical(data)
	switch {
	case len(data) == 0:
		return nil, errNoArguments
	case err != nil:
		return nil, fmt.Errorf("arguments are not usable JSON: %w", err)
	case canonical[0] != '{':
		return nil, errNotObject
	}
	return canonical, nil
}
