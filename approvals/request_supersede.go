package approvals

// supersede records d with the request, ends it, and asks about the call as d has made it instead. The run has nothing
// to do with it: it waits on.
func (c *txn) supersede(r *RequestHead, f *facts, d Decision, changed *Request) error {
	next := *changed
	next.ID = RequestID(c.newID("req_"))
	if err := c.note(r, d, f); err != nil {
		return err
	}
	r.SupersededBy, r.Applied = next.ID, true
	r.Note = wordsArgumentsChanged(next.ID)
	data := auditData{Bound: next.Digest, Digest: r.Digest, Next: next.ID}
	if err := c.moveRequest(r, RequestSuperseded, string(d.By), data); err != nil {
		return err
	}
	c.show(r)
	return c.pose(&next, string(d.By))
}
