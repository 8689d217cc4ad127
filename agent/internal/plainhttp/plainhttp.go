// Package plainhttp keeps exchanges over HTTP to requests and answers.
package plainhttp

import (
	"errors"
	"net/http"
)

// ErrSwitched says that a server answered by changing the protocol of the connection, which nobody had asked for.
var ErrSwitched = errors.New("the server switched protocols (HTTP 101), which is no answer")

// Answer takes what a RoundTripper returned. A response with status 101 becomes ErrSwitched and its connection is
// closed: net/http hands that over, and from then on no context ends a read from it.
func Answer(res *http.Response, err error) (*http.Response, error) {
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		return res, err
	}
	_ = res.Body.Close()
	return nil, ErrSwitched
}
