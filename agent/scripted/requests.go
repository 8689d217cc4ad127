package scripted

import (
	"slices"

	"countersign/agent"
)

// maxRequests bounds how many requests a Model remembers, so that it can serve for a long time.
const maxRequests = 1000

// Requests returns what the model was asked, oldest first, also where it failed: the newest 1,000 requests of all runs
// together. The items in them are not to be modified.
func (m *Model) Requests() []agent.ModelRequest {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests[max(0, len(m.requests)-maxRequests):])
}

// record remembers a request. Its items are appended to by nobody: a runner hands out clipped slices.
func (m *Model) record(req *agent.ModelRequest) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.requests) == 2*maxRequests { // so that not every request moves all of them
		m.requests = slices.Delete(m.requests, 0, maxRequests)
	}
	m.requests = append(m.requests, *req)
}
