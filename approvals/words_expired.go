package approvals

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"countersign/agent"
)

// missed says how many people answered a request that has expired: nobody, or too few.
func (r *RequestHead) missed() string {
	if slices.ContainsFunc(r.Decisions, func(d Decision) bool { return d.Void == "" }) {
		return "too few people"
	}
	return "nobody"
}

// expiredNote says to people why a request has expired.
func (r *RequestHead) expiredNote() string {
	if r.missed() == "nobody" {
		return wordsNobodyAnswered
	}
	return wordsTooFewAnswered
}

// expiredText is what the model reads as the output of a call whose request has expired. Where somebody has declined it
// does not say that nobody has.
func (r *RequestHead) expiredText() string {
	if r.IsQuestion() {
		return "Nobody answered the question in time."
	}
	var text string
	switch r.Kind {
	case agent.OutcomeUnknown:
		return fmt.Sprintf("It is not known whether this call was carried out: %s answered the question in time. "+
			"It will not be tried again.", r.missed())
	case agent.FieldsRequired:
		return "This call was not carried out: nobody filled in its missing values in time. No person has rejected it."
	case agent.ExternalResult:
		text = "There is no result of this call: nobody reported one in time. " +
			"It is not known whether somebody has carried it out."
	default:
		text = fmt.Sprintf("This call was not carried out: %s answered the request for approval in time.", r.missed())
	}
	if r.Kind == agent.Confirm && len(r.voters(false)) == 0 {
		text += " No person has rejected it."
	}
	return text
}

// expiredCall returns the request about a call of the run's own conversation that has expired and was not heard of by
// the run, or nil.
func expiredCall(callID string, unanswered []RequestID, requests []*RequestHead) *RequestHead {
	for _, r := range requests {
		parts := strings.Split(r.Interruption, "/")
		if len(parts) != 3 || !slices.Contains(unanswered, r.ID) { // calls of agents used as tools have more parts
			continue
		}
		if id, err := url.PathUnescape(parts[2]); err == nil && id == callID {
			return r
		}
	}
	return nil
}
