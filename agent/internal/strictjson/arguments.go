package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
)

var (
	errNoArguments = errors.New("arguments are empty; write {} when there are none")
	errNotObject   = errors.New("arguments must be a JSON object")
)

// Arguments is Canonical for the arguments of a call, which have to be an object. The error's text is made for the
// model to read.
func Arguments(data []byte) (json.RawMessage, error) {
	canonical, err := Canonical(data)
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
