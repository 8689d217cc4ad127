package approvals

import "context"

// ExportAudit calls fn with every entry of the workspace, oldest first, those that are not linked yet last; of every
// workspace when ws is empty. It reads in pages, so that a long trail holds up nobody. An error of fn ends it and is
// returned.
func ExportAudit(ctx context.Context, st Store, ws WorkspaceID, fn func(*AuditEntry) error) error {
	all := []WorkspaceID{ws}
	if ws == "" {
		var err error
		if all, err = auditWorkspaces(ctx, st); err != nil {
			return err
		}
	}
	for _, ws := range all {
		if err := exportWorkspace(ctx, st, ws, fn); err != nil {
			return err
		}
	}
	return nil
}

func exportWorkspace(ctx context.Context, st Store, ws WorkspaceID, fn func(*AuditEntry) error) error {
	var last uint64
	for {
		var page []*AuditEntry
		err := st.View(ctx, func(tx Tx) (err error) {
			if page, err = auditPageAfter(tx, ws, last); err != nil || len(page) > 0 {
				return err
			}
			page, err = tx.UnsealedAudit(ws, maxUnsealed) // of the same snapshot as the end of the chain
			return err
		})
		if err != nil {
			return err
		}
		for _, e := range page {
			if err := fn(e); err != nil {
				return err
			}
			if e.Seq > 0 {
				last = e.Seq
			}
		}
		if len(page) == 0 || page[0].Seq == 0 {
			return nil
		}
	}
}

func auditWorkspaces(ctx context.Context, st Store) (all []WorkspaceID, err error) {
	err = st.View(ctx, func(tx Tx) (err error) {
		all, err = tx.AuditWorkspaces()
		return err
	})
	return all, err
}

// recordedWorkspaces are those that have requests or grants.
func recordedWorkspaces(ctx context.Context, st Store) (all []WorkspaceID, err error) {
	err = st.View(ctx, func(tx Tx) (err error) {
		all, err = tx.RecordedWorkspaces()
		return err
	})
	return all, err
}
