package cli

import (
	"slices"
	"strings"
	"time"

	"countersign/internal/agentsfile"
)

// standIn is a person who decides for another through the day Until, in UTC.
type standIn struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Until string `json:"until"`
}

func standIns(f *agentsfile.File) (all []standIn) {
	for _, d := range f.Delegates {
		all = append(all, standIn{d.From, d.To, d.Until.Format(time.DateOnly)})
	}
	return all
}

// emergency is who may let a call run past its policy, and which channel is told of it.
type emergency struct {
	Users  []string `json:"users,omitempty"`
	Groups []string `json:"groups,omitempty"`
	Notify string   `json:"notify,omitempty"`
}

func whoBreaksGlass(f *agentsfile.File) *emergency {
	b := f.BreakGlass
	if b == nil {
		return nil
	}
	return &emergency{b.Users, b.Groups, b.Notify}
}

// String is the emergency in words.
func (e *emergency) String() string {
	text := strings.Join(slices.Concat(e.Users, e.Groups), ", ") + " may let a call run past its policy; "
	if e.Notify == "" {
		return text + "the conversation alone is told"
	}
	return text + e.Notify + " is told"
}
