package report

import (
	"fmt"
	"strconv"

	m "countersign/internal/report/markup"
)

// plot is a drawing of so many units, with room for labels.
type plot struct {
	width, height            float64
	left, right, top, bottom float64
}

func (p *plot) inner() (w, h float64) { return p.width - p.left - p.right, p.height - p.top - p.bottom }

// figure puts the drawing below its title. alt says the same in words.
func (p *plot) figure(title, alt string, children, legend []m.Node) m.Node {
	svg := m.E("svg", append([]m.Node{m.E("title", m.T(alt))}, children...)...).With(
		m.A("viewBox", fmt.Sprintf("0 0 %g %g", p.width, p.height)), m.A("role", "img"))
	return m.E("figure", m.E("figcaption", m.T(title)), svg, m.E("div", legend...).With(m.Class("legend")))
}

func rect(x, y, w, h float64) m.Node {
	return m.E("rect").With(m.N("x", x), m.N("y", y), m.N("width", w), m.N("height", h))
}

func label(x, y float64, anchor, text string) m.Node {
	return m.E("text", m.T(text)).With(m.N("x", x), m.N("y", y), m.A("text-anchor", anchor))
}

func line(x1, y1, x2, y2 float64) m.Node {
	return m.E("line").With(m.N("x1", x1), m.N("y1", y1), m.N("x2", x2), m.N("y2", y2))
}

func key(swatch m.Node, word string) m.Node {
	return m.E("span", m.E("svg", swatch).With(m.A("viewBox", "0 0 10 10"), m.A("aria-hidden", "true")), m.T(word))
}

// scale returns the steps of an axis for values up to most: three to six round numbers, of which the last is no less.
func scale(most int) (steps []int) {
	step := 1
	for i := 0; most > 5*step; i++ {
		step = step / [...]int{1, 2, 5}[i%3] * [...]int{2, 5, 10}[i%3]
	}
	for at := 0; ; at += step {
		if steps = append(steps, at); at >= most && at > 0 {
			return steps
		}
	}
}

// grid draws the lines of the axis, and the numbers beside them.
func (p *plot) grid(steps []int) (nodes []m.Node) {
	w, h := p.inner()
	for _, at := range steps {
		y := p.top + h - h*float64(at)/float64(steps[len(steps)-1])
		nodes = append(nodes, line(p.left, y, p.left+w, y).With(m.Class("grid")),
			label(p.left-4, y+3, "end", number(at)))
	}
	return nodes
}

func (p *plot) axis() m.Node {
	w, h := p.inner()
	return line(p.left, p.top+h, p.left+w, p.top+h).With(m.Class("axis"))
}

// timesPlot draws how long decided requests took.
func (r *Report) timesPlot() m.Node {
	p := plot{width: 360, height: 200, left: 34, right: 4, top: 8, bottom: 36}
	w, h := p.inner()
	most := 1
	for _, c := range r.Times {
		most = max(most, c.Approved+c.Rejected)
	}
	steps := scale(most)
	nodes, unit := p.grid(steps), h/float64(steps[len(steps)-1])
	slot := w / float64(max(1, len(r.Times)))
	for i, c := range r.Times {
		x, y := p.left+slot*float64(i), p.top+h
		tall := unit * float64(c.Approved)
		top := unit * float64(c.Rejected)
		nodes = append(nodes, m.E("g",
			m.E("title", m.F("%s: %d approved, %d rejected", class(c), c.Approved, c.Rejected)),
			rect(x+slot*.12, y-tall, slot*.76, tall).With(m.Class("approved")),
			rect(x+slot*.12, y-tall-top, slot*.76, top).With(m.Class("rejected"))))
		nodes = append(nodes, label(0, 0, "end", shortClass(c)).With(
			m.A("transform", fmt.Sprintf("translate(%.1f %.1f) rotate(-38)", x+slot*.68, y+11))))
	}
	legend := []m.Node{key(rect(0, 0, 10, 10).With(m.Class("approved")), "approved"),
		key(rect(0, 0, 10, 10).With(m.Class("rejected")), "rejected")}
	return p.figure("Time to decision", "Requests that people decided, by how long they had waited",
		append(nodes, p.axis()), legend)
}

// maxBars is how many tools the plot of rates shows; the table has all.
const maxBars = 12

// ratesPlot draws the approval rate of each tool that people decided about, those of most decisions first.
func (r *Report) ratesPlot() m.Node {
	groups := mostDecided(r.Tools, maxBars)
	p := plot{width: 360, height: max(60, 14+19*float64(len(groups))), left: 112, right: 86, top: 4, bottom: 4}
	w, _ := p.inner()
	var nodes []m.Node
	if len(groups) == 0 {
		nodes = append(nodes, label(p.width/2, 34, "middle", "People decided nothing in the window."))
	}
	for i, g := range groups {
		y := p.top + 19*float64(i)
		n := g.Decided.Approved + g.Decided.Rejected
		nodes = append(nodes, label(p.left-6, y+13, "end", shorten(g.Name, 20)).With(m.Class("strong")),
			rect(p.left, y+3, w, 13).With(m.Class("rest")),
			rect(p.left, y+3, w**g.Decided.Rate, 13).With(m.Class("approved")),
			label(p.left+w+6, y+13, "start", percent(g.Decided.Rate)+" of "+number(n)).With(m.Class("strong")))
	}
	title := "Approval rate per tool"
	if len(groups) == maxBars {
		title += " (the " + strconv.Itoa(maxBars) + " with most decisions)"
	}
	return p.figure(title, "Share of the requests that people decided which they approved, for each tool", nodes, nil)
}
