package bot

import "countersign/approvals"

// decider names who answered, and on whose behalf if not their own.
func decider(d approvals.Decision) phrase {
	if d.For == "" {
		return phrase{d.By}
	}
	return phrase{d.By, " for ", d.For}
}

// reviewLines say what became of the review of an emergency decision.
func reviewLines(r *approvals.Request) []phrase {
	switch v := r.Review; {
	case r.AwaitsReview():
		return []phrase{{"It waits for the review of somebody else who may decide it."}}
	case v == nil:
		return nil
	case v.Verdict == approvals.ReviewObject:
		return []phrase{{"Reviewed by ", v.By, ", who objects: " + label(v.Reason, 300)}}
	default:
		return []phrase{{"Reviewed by ", v.By, ", who accepts: " + label(v.Reason, 300)}}
	}
}
