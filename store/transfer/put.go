package transfer

import "countersign/approvals"

// Put writes a record that a method of every transaction writes whole. It reports false, and writes nothing, for one
// that each store writes in its own way.
func Put(tx approvals.Tx, r Record) (done bool, err error) {
	switch r := r.(type) {
	case Run:
		return true, tx.PutRun(r.Run)
	case Request:
		return true, tx.PutRequest(r.Request)
	case Effect:
		return true, tx.PutEffect(r.EffectRecord)
	case Grant:
		return true, tx.PutGrant(r.Grant)
	case Callback:
		return true, tx.PutCallback(r.Callback)
	case Input:
		return true, tx.PutInput(r.QueuedInput)
	case Installation:
		return true, tx.PutInstallation(r.Installation)
	case Audit:
		return true, tx.AppendAudit(r.AuditEntry)
	case Unsealed:
		return true, tx.AppendAudit(r.AuditEntry)
	case Notification:
		return true, tx.PutNotification(r.Notification)
	case DeadLetter:
		return true, tx.PutNotification(r.Notification)
	}
	return false, nil
}
