package bot

import "countersign/approvals"

// decider names who answered, and on whose behalf if not their own.
func decider(d approvals.Decision) phrase {
	if d.For == "" {
		return phrase{d.By}
	}
	return wordsOnBehalf(d.By, d.For)
}

// reviewLines say what became of the review of an emergency decision.
func reviewLines(r *approvals.Request) []phrase {
	switch v := r.Review; {
	case r.AwaitsReview():
		return []phrase{{wordsAwaitsReview}}
	case v == nil:
		return nil
	case v.Verdict == approvals.ReviewObject:
		return []phrase{wordsObjects(v.By, label(v.Reason, 300))}
	default:
		return []phrase{wordsAccepts(v.By, label(v.Reason, 300))}
	}
}
