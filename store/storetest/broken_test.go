package storetest

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"countersign/approvals"
)

// controls lists the stores that break promises, and the promises that each breaks.
func controls() []control {
	all := []control{
		{"Whole", nil, nil, around(asItIs)},
		{"WholeAlone", nil, nil, around(newAlone)},
		{"Forgets", []string{"ActiveRun", "Audit", "AuditForms", "AuditRepeated", "AuditSeal", "AuditUnsealed", "AuditWorkspaces",
			"BigState", "CloseWaits", "DeadLetters", "DeleteRun", "DeleteSession", "EndedRuns", "Inputs", "JobDelete", "JobInterrupted",
			"JobSurvives", "LapsedLeases", "Once", "Outbox", "OutboxCopies", "OwnRecords", "PendingOf", "PendingPages", "Reopen",
			"RequestHead", "Session", "SessionTail", "StateTail", "UndeliveredPlaces"}, nil, forgetting},
	}
	for _, part := range [][]control{brokenStores(), brokenRecords(), brokenRequests(), brokenTrails(), brokenJobs()} {
		all = append(all, part...)
	}
	return all
}

// tx is a control that wraps every transaction.
func txControl[T approvals.Tx](name string, wrap func(tx approvals.Tx) T, breaks ...string) control {
	return control{name, breaks, nil, around(each(wrap))}
}

func storeControl(name string, wrap func(approvals.Store) approvals.Store, breaks ...string) control {
	return control{name, breaks, nil, around(wrap)}
}

// or names subtests that may fail too.
func (c control) or(may ...string) control {
	c.may = may
	return c
}

func brokenStores() []control {
	quiet := func(when func(tx approvals.Tx, ended bool) bool) func(approvals.Store) approvals.Store {
		return wrapping(func(tx approvals.Tx, ended *bool) approvals.Tx {
			return quietTx{tx, func() bool { return when(tx, *ended) }}
		})
	}
	isView := func(tx approvals.Tx) bool { return !tx.(*memoryTx).write }
	overlaps := []string{"AuditRace", "Claim", "LostUpdate", "SealRace", "WriteSkew"}
	return []control{
		storeControl("LosesUpdates", losesUpdates, overlaps...).or("ManyAtOnce", "OnceRace", "CloseWaits"),
		storeControl("ClosesAtOnce", func(s approvals.Store) approvals.Store { return closesAtOnce{s} }, "CloseWaits"),
		storeControl("ReadsOutside", readsOutside, "SealRace", "WriteSkew", "AuditSeal").
			or("CancelledScan", "DeleteRun"),
		storeControl("LocksReaders", locksReaders, "Snapshot"),
		storeControl("KeepsPanicked", keepsPanicked, "FailuresAmongMany", "PanicRollsBack"),
		storeControl("KeepsExited", keepsExited, "GoexitRollsBack"),
		storeControl("WrapsErrors", wrapsErrors, "ErrorRollsBack", "FailuresAmongMany", "Once"),
		storeControl("IgnoresContext", ignoresContext, "CancelledContext"),
		storeControl("ScansOn", scansOn, "CancelledScan"),
		storeControl("DeniesCommits", deniesCommits, "CancelledCommit"),
		storeControl("WritesInView", quiet(func(tx approvals.Tx, ended bool) bool { return isView(tx) && !ended }), "ViewRefusesWrites"),
		storeControl("WritesAfterwards", quiet(func(_ approvals.Tx, ended bool) bool { return ended }), "EndedTx"),
		storeControl("NowMoves", clockOf(func(at time.Time, _, calls int) time.Time {
			return at.Add(time.Duration(calls) * time.Microsecond)
		}), "Now"),
		storeControl("NowElsewhere", clockOf(func(at time.Time, _, _ int) time.Time {
			return at.In(time.FixedZone("elsewhere", 3600))
		}), "Now"),
		storeControl("NowTooFine", clockOf(func(at time.Time, _, _ int) time.Time { return at.Add(time.Nanosecond) }), "Now"),
		storeControl("NowWrong", clockOf(func(at time.Time, _, _ int) time.Time { return at.Add(-90 * time.Second) }),
			"NowIsReal").or("JobDue", "JobLater"),
		storeControl("NowBack", clockOf(func(at time.Time, n, _ int) time.Time {
			return at.Add(-time.Duration(n) * time.Microsecond)
		}), "NowForward").or("JobDue", "JobLater", "ReplicasNow"),
		{"NowApart", []string{"ReplicasNow"}, nil, apart},
		storeControl("SaysOnlyThatItIsAlone", func(s approvals.Store) approvals.Store { return onlySaysSo{s} }, "DispatchOnce"),
	}
}

// forgetting returns a store that loses everything when nobody has it open.
func forgetting() func() approvals.Store {
	return counting(func(data *Memory, open int) *Memory {
		if open == 0 {
			return NewMemory()
		}
		return data
	}, func(s approvals.Store, _ func() int) approvals.Store { return s })
}

// handsOutTwice returns a store that hands out everything twice when there are three.
func handsOutTwice() func() approvals.Store {
	same := func(data *Memory, _ int) *Memory { return data }
	return counting(same, func(s approvals.Store, open func() int) approvals.Store {
		return handling(func(ctx context.Context, j approvals.Job, h handle) error {
			if open() > 2 {
				h(ctx, j)
			}
			return h(ctx, j)
		})(s)
	})
}

// counting returns stores that know how many there are. next tells what is there for the next, when so many are open.
func counting(next func(data *Memory, open int) *Memory, wrap func(s approvals.Store, open func() int) approvals.Store) func() approvals.Store {
	var mu sync.Mutex
	data, open := NewMemory(), 0
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return open
	}
	return func() approvals.Store {
		mu.Lock()
		defer mu.Unlock()
		data = next(data, open)
		open++
		var once sync.Once
		return closing{wrap(data.Open(), count), func() {
			once.Do(func() {
				mu.Lock()
				defer mu.Unlock()
				open--
			})
		}}
	}
}

// closing tells when it was closed.
type closing struct {
	approvals.Store
	closed func()
}

func (s closing) Close() error {
	defer s.closed()
	return s.Store.Close()
}

// apart returns stores each of which has a clock of its own.
func apart() func() approvals.Store {
	data := NewMemory()
	var mu sync.Mutex
	opened := 0
	return func() approvals.Store {
		mu.Lock()
		defer mu.Unlock()
		ahead := time.Duration(opened) * time.Second
		opened++
		return clockOf(func(at time.Time, _, _ int) time.Time { return at.Add(ahead) })(data.Open())
	}
}

func brokenRecords() []control {
	list := []control{
		txControl("SaysNothing", func(tx approvals.Tx) saysNothing { return saysNothing{tx} }, "NotFound").
			or("DeleteRun", "DeleteState"),
		txControl("ForgetsOwn", func(tx approvals.Tx) forgetsOwn { return forgetsOwn{tx, map[string]bool{}} }, "ReadYourWrites").
			or("OwnRecords"),
		txControl("IgnoresOnce", func(tx approvals.Tx) ignoresOnce { return ignoresOnce{tx} }, "Once", "OnceRace"),
		txControl("MixesWorkspaces", func(tx approvals.Tx) mixesWorkspaces { return mixesWorkspaces{tx} }, "Workspaces"),
		txControl("EscapesJSON", func(tx approvals.Tx) escapesJSON { return escapesJSON{tx} }, "BytesKept"),
		txControl("KeysOptional", func(tx approvals.Tx) keysOptional { return keysOptional{tx} }, "IncompleteKeys"),
		txControl("DirectMatters", func(tx approvals.Tx) directMatters { return directMatters{tx} }, "PlaceIdentity", "RoundTrip"),
		txControl("Lavish", func(tx approvals.Tx) lavish { return lavish{tx} }, "Limits"),
		txControl("CountsOne", func(tx approvals.Tx) countsOne { return countsOne{tx} }, "ActiveRuns", "DeleteRun"),
		txControl("LeasesLinger", func(tx approvals.Tx) leasesLinger { return leasesLinger{tx} }, "LapsedLeases"),
		txControl("EndsByName", func(tx approvals.Tx) endsByName { return endsByName{tx} }, "EndedRuns"),
		txControl("LeavesEffects", func(tx approvals.Tx) leavesEffects { return leavesEffects{tx} }, "DeleteRun"),
		txControl("DeletesMemory", func(tx approvals.Tx) deletesMemory { return deletesMemory{tx} }, "DeleteRun"),
		txControl("RunsByPrefix", func(tx approvals.Tx) runsByPrefix { return runsByPrefix{tx} },
			"DeleteRun", "EffectsOfRun", "RequestsOfRun"),
		txControl("KeepsAttempts", func(tx approvals.Tx) keepsAttempts { return keepsAttempts{tx} }, "Effects", "EffectsOfRun"),
		txControl("KeepsInputs", func(tx approvals.Tx) keepsInputs { return keepsInputs{tx} }, "Inputs"),
		txControl("OverlapsState", func(tx approvals.Tx) overlapsState { return overlapsState{tx.(*memoryTx)} }, "State"),
		txControl("Truncates", func(tx approvals.Tx) truncates { return truncates{tx} }, "BigState"),
		txControl("TailsAtLeastOne", func(tx approvals.Tx) tailsAtLeastOne { return tailsAtLeastOne{tx.(*memoryTx)} }, "StateTail"),
		txControl("TailsPossiblyNone", func(tx approvals.Tx) tailsPossiblyNone { return tailsPossiblyNone{tx.(*memoryTx)} },
			"SessionTail"),
		txControl("DeletesWhole", func(tx approvals.Tx) deletesWhole { return deletesWhole{tx} }, "DeleteState"),
		txControl("DeletesLess", func(tx approvals.Tx) deletesLess { return deletesLess{tx} }, "DeleteState"),
		{"RepeatsSession", []string{"PlaceIdentity", "Session"}, nil, func() func() approvals.Store {
			n := new(atomic.Int64)
			return around(each(func(tx approvals.Tx) repeatsSession { return repeatsSession{tx, n} }))()
		}},
		txControl("RemembersKeys", func(tx approvals.Tx) remembersKeys { return remembersKeys{tx.(*memoryTx)} }, "DeleteSession"),
		txControl("KeepsBytes", func(tx approvals.Tx) keepsBytes { return keepsBytes{tx.(*memoryTx)} }, "OwnRecords"),
		storeControl("MissesDeleted", deletingJobs(missesDeleted), "DeleteNothing"),
	}
	for _, method := range []string{"PutRequest", "QueryRequests", "Inputs", "EffectsOfRun", "UnsealedAudit", "DeadLetters",
		"StateTail", "SessionTail"} {
		list = append(list, control{"Shares" + method, []string{"OwnRecords"}, []string{"RequestHead"}, func() func() approvals.Store {
			kept := new(sync.Map)
			return around(each(func(tx approvals.Tx) sharing { return sharing{tx, kept, method} }))()
		}})
	}
	return list
}

func brokenRequests() []control {
	list := []control{
		txControl("HeadTakesContent", func(tx approvals.Tx) headTakesContent { return headTakesContent{tx} },
			"BytesKept", "OwnRecords", "RequestHead"),
		txControl("HeadMakesRequest", func(tx approvals.Tx) headMakesRequest { return headMakesRequest{tx} }, "RequestHeadMissing"),
		txControl("SortsRequests", func(tx approvals.Tx) sortsRequests { return sortsRequests{tx} }, "Requests"),
		txControl("CountsAll", func(tx approvals.Tx) countsAll { return countsAll{tx} }, "PendingOf"),
		storeControl("Collates", querying(collates), "BytewiseOrder"),
		storeControl("EndsShort", querying(endsShort), "QueryPages"),
		storeControl("StandsStill", querying(standsStill), "QueryPages"),
		storeControl("StaleIsPending", querying(staleIsPending), "PendingPages"),
	}
	for _, field := range []string{"Status", "Person", "Tool", "Agent", "Channel", "Run", "From", "To", "After"} {
		list = append(list, storeControl("Ignores"+field, ignoresField(field), "Query").
			or("QueryPages", "PendingPages", "BytewiseOrder"))
	}
	return list
}

func brokenTrails() []control {
	return []control{
		txControl("AcceptsGaps", func(tx approvals.Tx) acceptsGaps { return acceptsGaps{tx} }, "Audit"),
		txControl("PagesSkip", func(tx approvals.Tx) pagesSkip { return pagesSkip{tx} }, "AuditEntries"),
		txControl("MixesTrails", func(tx approvals.Tx) mixesTrails { return mixesTrails{tx} }, "AuditUnsealed"),
		txControl("ForgetsIDs", func(tx approvals.Tx) forgetsIDs { return forgetsIDs{tx.(*memoryTx)} }, "AuditRepeated"),
		txControl("SealsAnything", func(tx approvals.Tx) sealsAnything { return sealsAnything{tx.(*memoryTx)} }, "AuditSeal"),
		txControl("OneForm", func(tx approvals.Tx) oneForm { return oneForm{tx} }, "AuditForms"),
		txControl("KnowsSealed", func(tx approvals.Tx) knowsSealed { return knowsSealed{tx} }, "AuditWorkspaces"),
		txControl("Undead", func(tx approvals.Tx) undead { return undead{tx} },
			"DeadLetters", "Outbox", "OutboxCopies", "PlaceIdentity", "UndeliveredPlaces"),
		txControl("CopiesByPrefix", func(tx approvals.Tx) copiesByPrefix { return copiesByPrefix{tx} }, "OutboxCopies"),
		txControl("DeadWait", func(tx approvals.Tx) deadWait { return deadWait{tx.(*memoryTx)} }, "BytewiseOrder", "DeadLetters"),
		txControl("SweepsDead", func(tx approvals.Tx) sweepsDead { return sweepsDead{tx.(*memoryTx)} }, "UndeliveredPlaces"),
	}
}

func brokenJobs() []control {
	always := func(string) bool { return true }
	beforeTheRestart := func(id string) bool { return id == "before" }
	none := func(error) error { return nil }
	return []control{
		storeControl("EnqueuesOutside", enqueuesOutside, "JobTransactional", "JobSeveral"),
		storeControl("IsSlow", handling(isSlow), "JobWakes", "JobDue", "JobInterrupted", "Replicas").
			or("JobAttempts", "JobDeleteHandled", "JobErrorsStay", "JobGeneration", "JobLater", "JobGroups", "JobRetry"),
		storeControl("DropsCopy", given(func(j *approvals.Job) { j.Copy = "" }), "JobWhole"),
		storeControl("SharesPlaces", sharesPlaces, "JobOwn"),
		storeControl("Impatient", enqueuing(impatient), "JobDue", "JobLater", "JobSeveral"),
		storeControl("SwallowsErrors", ending(none), "JobAttempts", "JobOwn", "JobRetry", "JobRetryError"),
		storeControl("IgnoresPause", ending(withoutPause), "JobRetryError"),
		storeControl("StopsAtPanics", dispatching(stopsAt(true)), "JobPanic"),
		storeControl("StopsAtErrors", dispatching(stopsAt(false)), "JobAttempts", "JobErrorsStay", "JobRetry",
			"JobRetryError", "JobDeleteHandled", "JobGeneration", "JobOwn").or("JobPanic"),
		storeControl("ForgetsJobs", knowsOwn(beforeTheRestart), "JobSurvives"),
		storeControl("ForgetsInterrupted", handling(forgetsInterrupted), "JobInterrupted", "ReplicaDies"),
		storeControl("CountsAnew", given(func(j *approvals.Job) { j.Attempts = 0 }), "JobAttempts", "JobRetry", "JobOwn").or("JobPanic"),
		storeControl("EndsQuietly", dispatching(endsQuietly), "Closed", "DispatchClosed"),
		storeControl("LeavesHandlers", dispatching(leavesHandlers), "DispatchEnds"),
		storeControl("KeepsLater", enqueuing(keepsLater), "JobKey", "JobRetryError"),
		storeControl("OneWorkspace", enqueuing(oneWorkspace), "JobSeveral", "JobDelete"),
		storeControl("RemovesAlways", dispatching(removesAlways), "JobAgain", "JobGeneration", "JobLater", "JobDeleteHandled"),
		storeControl("HidesGeneration", given(func(j *approvals.Job) { j.Generation = 0 }), "JobGeneration", "JobDeleteHandled"),
		storeControl("CountsFromOne", enqueuing(countsFromOne), "JobDeleteHandled", "JobGeneration"),
		storeControl("IgnoresDelete", deletingJobs(ignoresDelete), "JobDelete", "JobDeleteHandled"),
		storeControl("DeletesEverywhere", deletingJobs(deletesEverywhere), "JobDelete"),
		storeControl("Revives", dispatching(revives), "JobDeleteHandled").or("JobOwn", "JobRetry"),
		storeControl("OneAtATime", dispatching(slots(1)), "JobKindsApart", "JobParallel", "JobGroups"),
		storeControl("IgnoresGroups", dispatching(slots(16)), "JobGroups"),
		storeControl("HandlesTwice", handlesTwice, "JobExclusive"),
		storeControl("KnowsOwn", knowsOwn(always), "Replicas", "ReplicaDies", "JobDelete", "JobInterrupted",
			"JobSurvives"),
		{"HandsOutTwice", []string{"ReplicasShare"}, nil, handsOutTwice},
	}
}
