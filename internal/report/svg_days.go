package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	m "countersign/internal/report/markup"
	"countersign/internal/visible"
)

// layers are the statuses in the order in which they are stacked. Classes are those of the style sheet.
var layers = []struct {
	name  string
	count func(*Status) int
	paint func(m.Node) m.Node
}{
	{"approved", func(s *Status) int { return s.Approved },
		func(n m.Node) m.Node { return n.With(m.Class("approved")) }},
	{"rejected", func(s *Status) int { return s.Rejected },
		func(n m.Node) m.Node { return n.With(m.Class("rejected")) }},
	{"expired", func(s *Status) int { return s.Expired }, func(n m.Node) m.Node { return n.With(m.Class("expired")) }},
	{"cancelled", func(s *Status) int { return s.Cancelled },
		func(n m.Node) m.Node { return n.With(m.Class("cancelled")) }},
	{"stale", func(s *Status) int { return s.Stale }, func(n m.Node) m.Node { return n.With(m.Class("stale")) }},
	{"superseded", func(s *Status) int { return s.Superseded },
		func(n m.Node) m.Node { return n.With(m.Class("superseded")) }},
	{"pending", func(s *Status) int { return s.Pending }, func(n m.Node) m.Node { return n.With(m.Class("pending")) }},
}

// bar is some days together.
type bar struct {
	from   time.Time
	status Status
}

// maxDayBars is how many bars the plot of days has at most.
const maxDayBars = 62

// bars puts the days of the window into bars of so many days each.
func (r *Report) bars() (all []bar, days int) {
	first, end := startOfDay(r.Window.From), r.Window.To
	number := int((end.Sub(first) + 24*time.Hour - 1) / (24 * time.Hour))
	days = max(1, (number+maxDayBars-1)/maxDayBars)
	for at := first; at.Before(end) && len(all) < maxDayBars; at = at.AddDate(0, 0, days) {
		all = append(all, bar{from: at})
	}
	for i := range r.Days {
		date, err := time.Parse(time.DateOnly, r.Days[i].Date)
		if err != nil {
			continue // a report that was read from elsewhere
		}
		at := int(date.Sub(first)/(24*time.Hour)) / days
		if date.Before(first) || at >= len(all) {
			continue
		}
		all[at].status.add(&r.Days[i].Status)
	}
	return all, days
}

func (s *Status) add(o *Status) {
	s.Pending, s.Approved, s.Rejected = s.Pending+o.Pending, s.Approved+o.Approved, s.Rejected+o.Rejected
	s.Expired, s.Cancelled = s.Expired+o.Expired, s.Cancelled+o.Cancelled
	s.Stale, s.Superseded = s.Stale+o.Stale, s.Superseded+o.Superseded
}

// daysPlot draws what was asked each day.
func (r *Report) daysPlot() m.Node {
	p := plot{width: 740, height: 190, left: 36, right: 4, top: 8, bottom: 22}
	w, h := p.inner()
	bars, days := r.bars()
	most := 1
	for i := range bars {
		most = max(most, bars[i].status.Sum())
	}
	steps := scale(most)
	nodes, slot := p.grid(steps), w/float64(max(1, len(bars)))
	every, width := max(1, (len(bars)+15)/16), min(slot*.76, 48) // every so many bars have a label
	for i := range bars {
		x := p.left + slot*float64(i)
		nodes = append(nodes, p.stack(&bars[i], x+(slot-width)/2, width, h/float64(steps[len(steps)-1])))
		if i%every == 0 {
			nodes = append(nodes, label(x+slot/2, p.height-8, "middle", bars[i].from.Format("01-02")))
		}
	}
	title := "Requests asked each day, by how they stand now"
	if days > 1 {
		title = fmt.Sprintf("Requests asked every %d days, by how they stand now", days)
	}
	var legend []m.Node
	for _, l := range layers {
		legend = append(legend, key(l.paint(rect(0, 0, 10, 10)), l.name))
	}
	return p.figure(title, title, append(nodes, p.axis()), legend)
}

// stack draws one bar from the ground up.
func (p *plot) stack(b *bar, x, width, unit float64) m.Node {
	_, h := p.inner()
	y := p.top + h
	nodes := []m.Node{m.E("title", m.F("%s: %d asked", b.from.Format(time.DateOnly), b.status.Sum()))}
	for _, l := range layers {
		if n := l.count(&b.status); n > 0 {
			y -= unit * float64(n)
			nodes = append(nodes, l.paint(rect(x, y, width, unit*float64(n))))
		}
	}
	return m.E("g", nodes...)
}

// mostDecided returns the groups with most decisions of people, at most limit, and none without.
func mostDecided(groups []Group, limit int) []Group {
	all := slices.DeleteFunc(slices.Clone(groups), func(g Group) bool { return g.Decided.Rate == nil })
	slices.SortFunc(all, func(a, b Group) int {
		return cmp.Or(b.Decided.Approved+b.Decided.Rejected-a.Decided.Approved-a.Decided.Rejected,
			cmp.Compare(a.Name, b.Name))
	})
	return all[:min(len(all), limit)]
}

// shorten returns the name in at most limit characters, as they are shown.
func shorten(name string, limit int) string {
	shown := []rune(visible.Line(name))
	if len(shown) <= limit {
		return name
	}
	for n := len([]rune(name)); n > 0; n-- {
		short := string([]rune(name)[:n]) + "…"
		if len([]rune(visible.Line(short))) <= limit {
			return short
		}
	}
	return "…"
}
