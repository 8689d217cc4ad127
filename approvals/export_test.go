package approvals

// What the tests compare with the documentation and the audit trail.
var (
	RunMoves       = runMoves
	RequestMoves   = requestMoves
	RunActions     = invert(runActions, map[AuditAction]RunStatus{AuditRunSubmitted: RunQueued})
	RequestActions = invert(requestActions, map[AuditAction]RequestStatus{})
)

func invert[K, V comparable](m map[K]V, into map[V]K) map[V]K {
	for k, v := range m {
		into[v] = k
	}
	return into
}
