package approvals

// CheckNext checks that next is the link of the chain behind e, by recomputing its hashes: an *AuditError says what is
// wrong. The first entry of a chain is behind one that has nothing but the workspace.
func (e *AuditEntry) CheckNext(next *AuditEntry) error { return e.follow(next) }
