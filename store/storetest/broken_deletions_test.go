package storetest

import (
	"errors"
	"time"

	"countersign/approvals"
)

// deletesRequests deletes the requests of a run with it.
type deletesRequests struct{ approvals.Tx }

func (t deletesRequests) DeleteRun(ws approvals.WorkspaceID, id approvals.RunID) error {
	requests, err := t.RequestsOfRun(ws, id)
	err = errors.Join(err, t.Tx.DeleteRun(ws, id))
	for _, r := range requests {
		err = errors.Join(err, t.DeleteRequest(ws, r.ID))
	}
	return err
}

// deletesWithRun deletes a request only while its run is there.
type deletesWithRun struct{ approvals.Tx }

func (t deletesWithRun) DeleteRequest(ws approvals.WorkspaceID, id approvals.RequestID) error {
	r, err := t.RequestHead(ws, id)
	if err != nil {
		return t.Tx.DeleteRequest(ws, id)
	}
	if _, err := t.Run(ws, r.Run); errors.Is(err, approvals.ErrNotFound) {
		return nil
	}
	return t.Tx.DeleteRequest(ws, id)
}

// remembersEvents forgets no event.
type remembersEvents struct{ approvals.Tx }

func (t remembersEvents) DeleteEvent(ws approvals.WorkspaceID, event string) error {
	list, err := t.Events(ws, "", 1000)
	err = errors.Join(err, t.Tx.DeleteEvent(ws, event))
	for _, e := range list {
		_, again := t.Once(ws, e.Key, e.At)
		err = errors.Join(err, again)
	}
	return err
}

// listsEventsAgain begins every list with the event that it shall continue behind.
type listsEventsAgain struct{ approvals.Tx }

func (t listsEventsAgain) Events(ws approvals.WorkspaceID, after string, limit int) ([]approvals.Event, error) {
	if after != "" {
		after = after[:len(after)-1]
	}
	return t.Tx.Events(ws, after, limit)
}

// listsPlacesAgain begins every list with the first place.
type listsPlacesAgain struct{ approvals.Tx }

func (t listsPlacesAgain) Sessions(ws approvals.WorkspaceID, _ approvals.Place, limit int) ([]approvals.Place, error) {
	return t.Tx.Sessions(ws, approvals.Place{}, limit)
}

// tellsFirstTime says of a place when its memory began.
type tellsFirstTime struct{ approvals.Tx }

func (t tellsFirstTime) SessionAppended(ws approvals.WorkspaceID, p approvals.Place) (time.Time, error) {
	if _, err := t.Tx.SessionAppended(ws, p); err != nil {
		return time.Time{}, err
	}
	for _, v := range t.Tx.(*memoryTx).rows(key("session key", ws, placeParts(p)...), "") {
		at, err := decode[time.Time](v)
		return *at, err
	}
	return time.Time{}, approvals.ErrNotFound
}

// remembersNothing says of a place without memory that nobody noted when it was added to.
type remembersNothing struct{ approvals.Tx }

func (t remembersNothing) SessionAppended(ws approvals.WorkspaceID, p approvals.Place) (time.Time, error) {
	at, err := t.Tx.SessionAppended(ws, p)
	if errors.Is(err, approvals.ErrNotFound) {
		err = nil
	}
	return at, err
}

// roundsEvents keeps whole seconds of the times of events.
type roundsEvents struct{ approvals.Tx }

func (t roundsEvents) Once(ws approvals.WorkspaceID, key string, at time.Time) (bool, error) {
	return t.Tx.Once(ws, key, at.Truncate(time.Second))
}
