package bot

import (
	"sync"

	"countersign/approvals"
)

// doubts are notifications that something is remembered of: of those in Bot.doubts it is not known whether a post went
// through, so they are looked for before they are posted again.
type doubts struct {
	mu  sync.Mutex
	ids map[approvals.NotificationID]bool
}

func (d *doubts) add(id approvals.NotificationID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	const most = 10_000 // what is forgotten is looked for once it is not fresh any more
	if d.ids == nil || len(d.ids) >= most {
		d.ids = map[approvals.NotificationID]bool{}
	}
	d.ids[id] = true
}

func (d *doubts) has(id approvals.NotificationID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ids[id]
}

func (d *doubts) settle(id approvals.NotificationID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.ids, id)
}
