package control

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"countersign/approvals"
)

// Cursor is a place in a list that goes through all workspaces. The zero Cursor is its start.
type Cursor struct {
	Workspace approvals.WorkspaceID
	ID        string // of the last record before the place
}

// CursorAt returns the place behind the request.
func CursorAt(r *approvals.RequestHead) Cursor { return Cursor{r.Workspace, string(r.ID)} }

// on adds the page to the parameters of a list.
func (c Cursor) on(v url.Values, limit int) url.Values {
	v.Set(paramWorkspace, string(c.Workspace))
	v.Set(paramAfter, c.ID)
	v.Set(paramLimit, strconv.Itoa(limit))
	return v
}

// readCursor is the inverse of Cursor.on. A limit that cannot be read is 0: as many as a page has.
func readCursor(v url.Values) (c Cursor, limit int) {
	limit, _ = strconv.Atoi(v.Get(paramLimit))
	return Cursor{approvals.WorkspaceID(v.Get(paramWorkspace)), v.Get(paramAfter)}, limit
}

// maxPage is how many records a page has at most.
const maxPage = 200

// reader reads up to limit records of a workspace behind an id. next is where to go on, empty at the end.
type reader[T any] func(ws approvals.WorkspaceID, behind string, limit int) (page []T, next string, err error)

// readPage fills a page with the records behind the cursor, workspace after workspace, and says whether there may be
// more. Each call of read is a transaction of its own, so that a long search holds up nobody.
func readPage[T any](ctx context.Context, st approvals.Store, after Cursor, limit int, read reader[T]) (
	page []T, more bool, err error,
) {
	if limit < 1 || limit > maxPage {
		limit = maxPage
	}
	all, err := workspaces(ctx, st)
	if err != nil {
		return nil, false, err
	}
	for _, ws := range all {
		behind := ""
		switch {
		case ws < after.Workspace:
			continue
		case ws == after.Workspace:
			behind = after.ID
		}
		for end := false; !end; end = behind == "" {
			if len(page) == limit {
				return page, true, nil
			}
			var found []T
			if found, behind, err = read(ws, behind, limit-len(page)); err != nil {
				return nil, false, err
			}
			page = append(page, found...)
		}
	}
	return page, false, nil
}

// workspaces lists the workspaces that a store knows.
func workspaces(ctx context.Context, st approvals.Store) (all []approvals.WorkspaceID, err error) {
	err = st.View(ctx, func(tx approvals.Tx) (err error) {
		all, err = tx.AuditWorkspaces()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list workspaces: %w", err)
	}
	return all, nil
}
