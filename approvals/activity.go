package approvals

// ActivityKind says what a run has begun to do.
type ActivityKind string

// The kinds of activities.
const (
	ActivityWorking ActivityKind = "working" // a worker is at it
	ActivityWaiting ActivityKind = "waiting" // people are asked, and nobody is at it
	ActivityOver    ActivityKind = "over"    // nobody is at it any more: it has ended, or goes on later
)

// Activity is what a run does now. It is told beside the records and may be lost: nothing may rest on it.
type Activity struct {
	Workspace WorkspaceID
	Run       RunID
	Place     Place
	Kind      ActivityKind
	// Resumed says of a run at work that people may have been asked before.
	Resumed bool
}

// Watcher is told what runs do. Watch returns at once, whatever it does about that: the run goes on behind it.
type Watcher interface {
	Watch(a Activity)
}

// tell tells the watcher, if there is one. A watcher that panics harms nothing.
func (x *execution) tell(kind ActivityKind) {
	if x.watcher == nil {
		return
	}
	defer func() {
		if recover() != nil {
			x.log.Error("a watcher panicked", "run", x.run.ID)
		}
	}()
	x.watcher.Watch(Activity{
		Workspace: x.run.Workspace, Run: x.run.ID, Place: x.run.Place, Kind: kind, Resumed: x.run.StateItems > 0,
	})
}
