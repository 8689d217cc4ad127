package openaimodel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/openai/openai-go/v3/packages/ssestream"
)

// eventStream is the data of a stream's events, one after the other.
type eventStream struct {
	decoder ssestream.Decoder
	last    []byte
	marked  bool // the end mark was seen
}

func newEventStream(res *http.Response) *eventStream {
	return &eventStream{decoder: ssestream.NewDecoder(res)}
}

// next reads the next event into v. It returns false at the end mark and where the stream breaks off. An event that is
// the same as the one before, number and all, is left out: it was delivered twice.
func (s *eventStream) next(v any) (bool, error) {
	for s.decoder.Next() {
		data := bytes.TrimSpace(s.decoder.Event().Data)
		switch {
		case len(data) == 0, bytes.Equal(data, s.last) && numbered(data):
			continue
		case bytes.HasPrefix(data, []byte("[DONE]")):
			s.marked = true
			return false, nil
		}
		s.last = data
		if err := json.Unmarshal(data, v); err != nil {
			return false, fmt.Errorf("%w: %w", errCut, err)
		}
		return true, nil
	}
	if err := s.decoder.Err(); err != nil {
		return false, fmt.Errorf("%w: %w", errCut, err)
	}
	return false, nil
}

// numbered reports whether an event tells itself apart from an equal one.
func numbered(data []byte) bool { return bytes.Contains(data, []byte(`"sequence_number"`)) }
