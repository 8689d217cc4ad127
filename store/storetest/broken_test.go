package storetest

import (
	"reflect"
	"sync/atomic"
	"time"

	"countersign/approvals"
)

// controls lists the stores that break promises, and the promises that each breaks.
func controls() []control {
	all := []control{
		{"Whole", nil, nil, around(asItIs)},
		{"WholeAlone", nil, nil, around(newAlone)},
		{"Forgets", []string{"ActiveRun", "Audit", "AuditForms", "AuditRepeated", "AuditSeal", "AuditUnsealed",
			"AuditWorkspaces", "BigState", "Callback", "CallbackOfDeletedRequest",
			"CloseWaits", "DeadLetters", "DeleteRequest", "DeleteRun", "DeleteSession", "EndedRuns", "Events",
			"Grant", "Inputs", "Installation", "Installations",
			"JobDelete", "JobInterrupted", "JobSurvives", "LapsedLeases", "Once", "Outbox",
			"OutboxCopies", "OpenGrants", "OwnRecords", "PendingOf", "PendingPages", "RecordedWorkspaces",
			"Reopen", "RequestHead", "Session", "SessionTail", "Sessions", "StateTail", "UndeliveredPlaces"},
			nil, forgetting},
	}
	for _, part := range [][]control{brokenStores(), brokenRecords(), brokenRequests(), brokenTrails(), brokenJobs()} {
		all = append(all, part...)
	}
	return all
}

// broken is a control that wraps every transaction in a T, a struct that embeds the transaction.
func broken[T approvals.Tx](breaks ...string) control {
	wrap := func(tx approvals.Tx) T {
		var t T
		reflect.ValueOf(&t).Elem().Field(0).Set(reflect.ValueOf(tx))
		return t
	}
	return control{reflect.TypeFor[T]().Name(), breaks, nil, around(each(wrap))}
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
	overlaps := []string{"AuditRace", "Claim", "GrantRace", "LostUpdate", "SealRace", "WriteSkew"}
	return []control{
		storeControl("LosesUpdates", losesUpdates, overlaps...).or("ManyAtOnce", "OnceRace", "CloseWaits"),
		storeControl("ClosesAtOnce", func(s approvals.Store) approvals.Store { return closesAtOnce{s} }, "CloseWaits"),
		storeControl("ReadsOutside", readsOutside, "SealRace", "WriteSkew", "AuditSeal").
			or("CancelledScan", "DeleteRun"),
		storeControl("LocksReaders", locksReaders, "Snapshot", "OneRead"),
		storeControl("ReadsOnceOnly", readsOnceOnly, "OneRead"),
		storeControl("KeepsPanicked", keepsPanicked, "FailuresAmongMany", "PanicRollsBack"),
		storeControl("KeepsExited", keepsExited, "GoexitRollsBack"),
		storeControl("WrapsErrors", wrapsErrors, "ErrorRollsBack", "FailuresAmongMany", "Once"),
		storeControl("IgnoresContext", ignoresContext, "CancelledContext"),
		storeControl("ScansOn", scansOn, "CancelledScan"),
		storeControl("DeniesCommits", deniesCommits, "CancelledCommit"),
		storeControl("WritesInView", quiet(func(tx approvals.Tx, ended bool) bool { return isView(tx) && !ended }),
			"ViewRefusesWrites"),
		storeControl("WritesAfterwards", quiet(func(_ approvals.Tx, ended bool) bool { return ended }), "EndedTx"),
		storeControl("NowMoves", clockOf(func(at time.Time, _, calls int) time.Time {
			return at.Add(time.Duration(calls) * time.Microsecond)
		}), "Now").or("Sessions"),
		storeControl("NowElsewhere", clockOf(func(at time.Time, _, _ int) time.Time {
			return at.In(time.FixedZone("elsewhere", 3600))
		}), "Now"),
		storeControl("NowTooFine", clockOf(func(at time.Time, _, _ int) time.Time {
			return at.Add(time.Nanosecond)
		}), "Now").or("Sessions"),
		storeControl("NowWrong", clockOf(func(at time.Time, _, _ int) time.Time { return at.Add(-90 * time.Second) }),
			"NowIsReal").or("JobDue", "JobLater", "Sessions"),
		storeControl("NowBack", clockOf(func(at time.Time, n, _ int) time.Time {
			return at.Add(-time.Duration(n) * time.Microsecond)
		}), "NowForward").or("JobDue", "JobLater", "ReplicasNow", "Sessions"),
		storeControl("SaysEarlier", func(s approvals.Store) approvals.Store { return telling{s, -time.Second} },
			"NowBetween"),
		storeControl("SaysLater", func(s approvals.Store) approvals.Store { return telling{s, time.Second} },
			"NowBetween"),
		{"NowApart", []string{"ReplicasNow"}, []string{"Sessions"}, apart},
		storeControl("OnlySaysSo", func(s approvals.Store) approvals.Store { return onlySaysSo{s} }, "DispatchOnce"),
	}
}

func brokenRecords() []control {
	list := []control{
		broken[saysNothing]("NotFound").or("DeleteRun", "DeleteState"),
		storeControl("ForgetsOwn", each(newForgetsOwn), "ReadYourWrites").or("OwnRecords"),
		broken[ignoresOnce]("Once", "OnceRace"),
		broken[mixesWorkspaces]("Workspaces"),
		broken[escapesJSON]("BytesKept"),
		broken[keysOptional]("IncompleteKeys"),
		broken[directMatters]("OwnRecords", "PlaceIdentity", "RoundTrip"),
		broken[lavish]("Limits"),
		broken[countsOne]("ActiveRuns", "DeleteRun"),
		broken[leasesLinger]("LapsedLeases"),
		broken[leasesTrusted]("LapsedLeases"),
		broken[endsByName]("EndedRuns"),
		broken[leavesEffects]("DeleteRun"),
		broken[leavesCallbacks]("CallbackOfDeletedRequest", "DeleteRequest"),
		broken[deletesRequests]("DeleteRequest", "DeleteRun"),
		broken[deletesWithRun]("DeleteRequest", "RequestHeadMissing"),
		broken[remembersEvents]("Events"),
		broken[listsEventsAgain]("Events"),
		broken[listsPlacesAgain]("Sessions"),
		broken[tellsFirstTime]("Sessions"),
		broken[remembersNothing]("Sessions"),
		broken[roundsEvents]("Events"),
		broken[keepsTokens]("Callback"),
		broken[keepsInstalled]("Installation"),
		broken[sharesInstallations]("Installation", "Workspaces"),
		broken[listsInstallationsAgain]("Installations"),
		broken[deletesMemory]("DeleteRun"),
		broken[runsByPrefix]("DeleteRun", "EffectsOfRun", "RequestsOfRun"),
		broken[keepsAttempts]("Effects", "EffectsOfRun"),
		broken[keepsRevoked]("Grant", "GrantRace", "OpenGrants", "ViewRefusesWrites"),
		broken[listsEnded]("OpenGrants"),
		broken[listsOpen]("Grants"),
		broken[sortsGrants]("GrantsByID"),
		broken[grantsById]("OpenGrants"),
		broken[keepsInputs]("Inputs"),
		broken[overlapsState]("State"),
		broken[truncates]("BigState"),
		broken[tailsAtLeastOne]("StateTail"),
		broken[tailsPossiblyNone]("SessionTail"),
		broken[deletesWhole]("DeleteState"),
		broken[deletesLess]("DeleteState"),
		{"RepeatsSession", []string{"PlaceIdentity", "Session"}, nil, func() func() approvals.Store {
			n := new(atomic.Int64)
			return around(each(func(tx approvals.Tx) repeatsSession { return repeatsSession{tx, n} }))()
		}},
		broken[remembersKeys]("DeleteSession", "Sessions"),
		broken[keepsBytes]("OwnRecords"),
		storeControl("MissesDeleted", deletingJobs(missesDeleted), "DeleteNothing"),
	}
	for _, method := range []string{"PutRequest", "QueryRequests", "Inputs", "EffectsOfRun", "UnsealedAudit",
		"DeadLetters", "StateTail", "SessionTail"} {
		list = append(list,
			control{"Shares" + method, []string{"OwnRecords"}, []string{"RequestHead"}, sharingAll(method)})
	}
	return list
}

func brokenRequests() []control {
	list := []control{
		broken[headTakesContent]("BytesKept", "OwnRecords", "RequestHead"),
		broken[headMakesRequest]("RequestHeadMissing"),
		broken[sortsRequests]("Requests"),
		broken[sortsRuns]("RequestsOfRuns"),
		broken[countsAll]("PendingOf"),
		storeControl("Collates", querying(collates), "BytewiseOrder", "NewestFirst"),
		storeControl("EndsShort", querying(endsShort), "NewestFirst", "QueryPages"),
		storeControl("StandsStill", querying(standsStill), "QueryPages"),
		storeControl("StaleIsPending", querying(staleIsPending), "PendingPages"),
	}
	for _, field := range []string{"Status", "Person", "Tool", "Agent", "Channel", "Run", "From", "To", "After",
		"Settled"} {
		list = append(list, storeControl("Ignores"+field, ignoresField(field), "Query").
			or("QueryPages", "PendingPages", "BytewiseOrder", "NewestFirst"))
	}
	list = append(list, storeControl("IgnoresNewest", ignoresField("Newest"), "NewestFirst"),
		storeControl("EndsShortOfRuns", queryingRuns(runsEndShort), "RunPages"))
	for _, field := range []string{"Status", "Person", "Agent", "Channel", "From", "To", "After", "Newest"} {
		list = append(list, storeControl("IgnoresRun"+field, ignoresRunField(field), "QueryRuns").or("RunPages"))
	}
	return list
}

func brokenTrails() []control {
	return []control{
		broken[acceptsGaps]("Audit"),
		broken[pagesSkip]("AuditEntries"),
		broken[mixesTrails]("AuditUnsealed"),
		broken[forgetsIDs]("AuditRepeated"),
		broken[sealsAnything]("AuditSeal"),
		broken[oneForm]("AuditForms"),
		broken[knowsSealed]("AuditWorkspaces"),
		broken[knowsToldOf]("RecordedWorkspaces"),
		broken[undead]("DeadLetters", "Outbox", "OutboxCopies", "PlaceIdentity", "UndeliveredPlaces"),
		broken[copiesByPrefix]("OutboxCopies"),
		broken[deadWait]("BytewiseOrder", "DeadLetters"),
		broken[sweepsDead]("UndeliveredPlaces"),
		broken[futureUnseen]("UndeliveredPlaces"),
		broken[countsDead]("UndeliveredPlaces"),
		broken[countsFirst]("UndeliveredPlaces"),
	}
}

func brokenJobs() []control {
	always := func(string) bool { return true }
	beforeTheRestart := func(id string) bool { return id == "before" }
	none := func(error) error { return nil }
	return []control{
		storeControl("EnqueuesOutside", enqueuesOutside, "JobTransactional", "JobSeveral"),
		storeControl("IsSlow", handling(isSlow), "JobWakes", "JobDue", "JobInterrupted", "Replicas").
			or("JobAttempts", "JobDeleteHandled", "JobErrorsStay", "JobGeneration", "JobLater", "JobGroups",
				"JobRetry"),
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
		storeControl("CountsAnew", given(func(j *approvals.Job) { j.Attempts = 0 }),
			"JobAttempts", "JobRetry", "JobOwn").or("JobPanic"),
		storeControl("EndsQuietly", dispatching(endsQuietly), "Closed", "DispatchClosed"),
		storeControl("LeavesHandlers", dispatching(leavesHandlers), "DispatchEnds"),
		storeControl("KeepsLater", enqueuing(keepsLater), "JobKey", "JobRetryError"),
		storeControl("OneWorkspace", enqueuing(oneWorkspace), "JobSeveral", "JobDelete"),
		storeControl("RemovesAlways", dispatching(removesAlways), "JobAgain", "JobGeneration", "JobLater",
			"JobDeleteHandled"),
		storeControl("HidesGeneration", given(func(j *approvals.Job) { j.Generation = 0 }), "JobGeneration",
			"JobDeleteHandled"),
		storeControl("CountsFromOne", enqueuing(countsFromOne), "JobDeleteHandled", "JobGeneration"),
		storeControl("IgnoresDelete", deletingJobs(ignoresDelete), "JobDelete", "JobDeleteHandled"),
		storeControl("DeletesEverywhere", deletingJobs(deletesEverywhere), "JobDelete"),
		storeControl("Revives", dispatching(revives), "JobDeleteHandled").or("JobOwn", "JobRetry"),
		storeControl("OneAtATime", dispatching(slots(1)), "JobKindsApart", "JobParallel", "JobGroups"),
		storeControl("IgnoresGroups", dispatching(slots(16)), "JobGroups"),
		storeControl("HandlesTwice", handlesTwice, "JobExclusive"),
		storeControl("KnowsOwn", knowsOwn(always), "Replicas", "ReplicaDies", "JobDelete",
			"JobInterrupted", "JobSurvives").or("ReplicasShare"),
		{"HandsOutTwice", []string{"ReplicasShare"}, nil, handsOutTwice},
	}
}
