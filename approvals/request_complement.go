package approvals

import "countersign/agent"

// complement fills in what the records of requests do not hold themselves and people are shown: of a pending one which
// others a standing answer would settle, and which a batch may answer with it; of one that is stale or superseded what
// is asked instead. All are of one workspace. It reads twice at most, however many there are. publicURL is where
// callbacks arrive.
func complement(tx Tx, publicURL string, requests ...*Request) error {
	var ws WorkspaceID
	var runs []RunID
	seen := make(map[RunID]bool)
	for _, r := range requests {
		if r.dependsOnRun() && !seen[r.Run] {
			ws, seen[r.Run] = r.Workspace, true
			runs = append(runs, r.Run)
		}
		if r.Status == RequestPending && r.Kind == agent.ExternalResult {
			r.Callbacks = publicURL != "" && !r.IsQuestion()
		}
	}
	heads, err := tx.RequestsOfRuns(ws, runs)
	if err != nil {
		return err
	}
	of := make(map[RunID][]*RequestHead, len(runs))
	for _, o := range heads {
		of[o.Run] = append(of[o.Run], o)
	}
	others, err := tellingOthers(tx, ws, requests, of)
	if err != nil {
		return err
	}
	for _, r := range requests {
		if r.dependsOnRun() {
			r.tell(of[r.Run], others)
		}
	}
	return nil
}

// tellingOthers reads the requests that must be known whole to say of some what goes with them.
func tellingOthers(
	tx Tx, ws WorkspaceID, requests []*Request, of map[RunID][]*RequestHead,
) (map[RequestID]*Request, error) {
	var ids []RequestID
	others := make(map[RequestID]*Request)
	for _, r := range requests {
		if !r.dependsOnRun() {
			continue
		}
		for _, id := range r.toldOf(of[r.Run]) {
			if _, known := others[id]; !known {
				others[id] = nil
				ids = append(ids, id)
			}
		}
	}
	whole, err := tx.Requests(ws, ids)
	for _, o := range whole {
		others[o.ID] = o
	}
	return others, err
}

// dependsOnRun reports whether other requests of its run say something about r.
func (r *RequestHead) dependsOnRun() bool {
	switch r.Status {
	case RequestStale, RequestSuperseded:
		return true
	case RequestPending:
		return r.Kind == agent.Confirm
	}
	return false
}

// toldOf returns which of all requests of the run must be known whole to say what goes with r.
func (r *RequestHead) toldOf(all []*RequestHead) []RequestID {
	switch {
	case r.Status == RequestStale:
		if next := r.nextOf(all); next != nil {
			return []RequestID{next.ID}
		}
	case r.Status == RequestPending && len(r.Requirement.Always) > 0:
		return r.siblings(all)
	}
	return nil
}

// tell fills in what all requests of the run, and the others that are known whole, say about r. One of those that was
// deleted meanwhile is nil.
func (r *Request) tell(all []*RequestHead, others map[RequestID]*Request) {
	if r.Status != RequestPending {
		if last := r.lastOf(all); last != nil {
			r.AsksNow = last.ID
		}
		for _, id := range r.toldOf(all) {
			if next := others[id]; next != nil {
				r.Replaced = r.replacement(next)
			}
		}
		return
	}
	r.Covers, r.Beside = nil, nil
	for _, o := range all {
		if o.ID != r.ID && o.Status == RequestPending && o.yesOrNo() && r.yesOrNo() {
			r.Beside = append(r.Beside, o.ID)
		}
	}
	for _, id := range r.toldOf(all) {
		if o := others[id]; o != nil {
			r.Covers = append(r.Covers, Covered{o.ID, o.Shown()})
		}
	}
}

// yesOrNo reports whether r asks for no more than yes or no and is, as its policy was then, of no high risk.
func (r *RequestHead) yesOrNo() bool {
	return r.Kind == agent.Confirm && r.Requirement.Risk != RiskHigh
}
