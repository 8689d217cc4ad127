package bot

import "countersign/approvals"

// decider names who answered, and on whose behalf if not their own.
func decider(d approvals.Decision) phrase {
	if d.For == "" {
		return phrase{d.By}
	}
	return phrase{d.By, " for ", d.For}
}
