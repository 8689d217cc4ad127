package approvals

import (
	"fmt"
	"strings"
	"time"
)

// What a grant is for, and why one that has not ended covers nothing now.

const (
	wordsInThisRun       = "in this run"
	wordsInThisThread    = "in this thread"
	wordsInThisChannel   = "in this channel"
	wordsInThisWorkspace = "in the whole workspace"
)

// wordsGrantTerms says what a grant is for. bounds are what its arguments have to be, and uses is 0 for any number.
func wordsGrantTerms(tool, agent string, s Scope, bounds []string, uses int) string {
	text := tool + " by " + agent + ", scope " + string(s)
	if len(bounds) > 0 {
		text += ", with " + strings.Join(bounds, " and ")
	}
	if uses > 0 {
		text += fmt.Sprintf(", %d time%s", uses, plural(uses))
	}
	return text
}

// Bounds of arguments.

func wordsLeftOut(name string) string { return name + " left out" }

func wordsAtMost(name, most string) string { return name + " at most " + most }

// Why a grant covers nothing now.

const (
	wordsToolHasChanged    = "the tool was changed"
	wordsGrantRunHasEnded  = "the run that it is for has ended"
	wordsRequestUnread     = "its request cannot be read now"
	wordsUnsureOfGivers    = "it cannot be found out now whether those who gave it still could"
	wordsGrantCannotBeUsed = "it cannot be used now"
)

func wordsScopeNotAllowed(policy string, s Scope) string {
	return fmt.Sprintf("%s allows no grants of scope %s now", policy, s)
}

func wordsLastsTooLong(policy string, most time.Duration) string {
	return fmt.Sprintf("%s lets grants last %s at most now", policy, shortDuration(most))
}

func wordsFrozenNow(policy string, until time.Time) string {
	return fmt.Sprintf("%s is frozen until %s", policy, freezeTime(until))
}

func wordsGiversCouldNot(policy string) string {
	return "those who gave it could not approve this now under " + policy
}
