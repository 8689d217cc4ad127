package control

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"countersign/approvals"
)

// RunStatusWords are the words that ReadRunStatus takes.
func RunStatusWords() []string {
	return []string{
		string(approvals.RunQueued), string(approvals.RunRunning), string(approvals.RunWaiting),
		string(approvals.RunDone), string(approvals.RunFailed), string(approvals.RunCancelled), anyStatus,
	}
}

// ReadRunStatus returns what RunQuery.Status is for a word. Its error, an approvals.ErrInvalid, lists the right ones.
func ReadRunStatus(word string) (approvals.RunStatus, error) {
	words := RunStatusWords()
	switch {
	case word == anyStatus:
		return "", nil
	case slices.Contains(words, word):
		return approvals.RunStatus(word), nil
	}
	return "", fmt.Errorf("%w: there is no status %q; it is one of %s", approvals.ErrInvalid, word,
		strings.Join(words, ", "))
}

// values is the query as parameters of GET /v1/runs.
func (q *RunQuery) values() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{
		paramStatus: string(q.Status), paramPerson: q.Person, paramAgent: q.Agent, paramChannel: q.Channel,
		paramSince: instant(q.Since), paramUntil: instant(q.Until),
	} {
		if value != "" {
			v.Set(name, value)
		}
	}
	return v
}

// readRunQuery is the inverse of values. A parameter that it does not know is refused, as by readQuery.
func readRunQuery(v url.Values) (q RunQuery, err error) {
	for name := range v {
		value := v.Get(name)
		switch name {
		case paramStatus:
			q.Status, err = ReadRunStatus(value)
		case paramPerson:
			q.Person = value
		case paramAgent:
			q.Agent = value
		case paramChannel:
			q.Channel = value
		case paramSince:
			q.Since, err = readInstant(name, value)
		case paramUntil:
			q.Until, err = readInstant(name, value)
		case paramWorkspace, paramAfter, paramLimit:
		default:
			err = fmt.Errorf("%w: there is no parameter %q", approvals.ErrInvalid, name)
		}
		if err != nil {
			return RunQuery{}, err
		}
	}
	return q, nil
}
