package report

import (
	"io"

	m "countersign/internal/report/markup"
)

// HTML prints the report as a page that stands by itself: no scripts, nothing from elsewhere, for screens and for A4.
func (r *Report) HTML(w io.Writer) error {
	return m.WritePage(w, m.E("html",
		m.E("head",
			m.E("meta").With(m.A("charset", "utf-8")),
			m.E("meta").With(m.A("name", "viewport"), m.A("content", "width=device-width, initial-scale=1")),
			m.E("meta").With(m.A("http-equiv", "Content-Security-Policy"),
				m.A("content", "default-src 'none'; style-src 'unsafe-inline'")),
			m.E("title", m.F("Approval report, %s", r.Window)),
			m.Style(style),
		),
		m.E("body", r.header(), m.E("main", m.Concat(r.overview(), r.parts())...), footer()),
	).With(m.A("lang", "en")))
}

func (r *Report) header() m.Node {
	var list []m.Node
	for _, p := range r.origin() {
		list = append(list, m.E("dt", m.T(p.word)), m.E("dd", m.T(p.value)))
	}
	for _, t := range r.Trails {
		if t.Head != "" {
			list = append(list, m.E("dt", m.T("Audit head")), m.E("dd", m.E("code", m.T(t.Head)),
				m.F(" %s, %s entries", t.Workspace, number(int(t.Entries)))))
		}
	}
	nodes := []m.Node{m.E("h1", m.T("Approval report")), m.E("dl", list...).With(m.Class("origin"))}
	for _, note := range r.notes() {
		nodes = append(nodes, m.E("p", m.E("strong", m.T("Note: ")), m.T(note)).With(m.Class("note")))
	}
	return m.E("header", nodes...)
}

// overview are the figures that matter most, and the plots.
func (r *Report) overview() []m.Node {
	var tiles []m.Node
	for _, p := range r.figures() {
		tiles = append(tiles, m.E("div",
			m.E("span", m.T(p.value)).With(m.Class("value")), m.E("span", m.T(p.word)).With(m.Class("word"))))
	}
	return []m.Node{
		m.E("section",
			m.E("h2", m.T("In a few figures")), m.E("div", tiles...).With(m.Class("tiles")),
			r.daysPlot()).With(m.A("id", "figures")),
		m.E("section", m.E("div", r.timesPlot(), r.ratesPlot()).With(m.Class("plots"))),
	}
}

// parts are the sections with their tables.
func (r *Report) parts() (all []m.Node) {
	for _, s := range r.sections() {
		nodes := []m.Node{m.E("h2", m.T(s.title))}
		if s.about != "" {
			nodes = append(nodes, m.E("p", m.T(s.about)))
		}
		for i := range s.tables {
			nodes = append(nodes, s.tables[i].html())
		}
		all = append(all, m.E("section", nodes...).With(m.A("id", s.id)))
	}
	return all
}

func (t *table) html() m.Node {
	var title m.Node
	if t.title != "" {
		title = m.E("h3", m.T(t.title))
	}
	if len(t.rows) == 0 {
		return m.E("div", title, m.E("p", m.T(t.empty)).With(m.Class("empty")))
	}
	var rows []m.Node
	for _, row := range t.rows {
		rows = append(rows, t.row("td", row))
	}
	if t.total != nil {
		rows = append(rows, t.row("td", t.total).With(m.Class("total")))
	}
	body := m.E("table", m.E("thead", t.row("th", t.head)), m.E("tbody", rows...))
	switch {
	case len(t.head) > 8:
		body = body.With(m.Class("wide"))
	case len(t.head) <= 4 && t.texts == 1:
		body = body.With(m.Class("narrow"))
	}
	return m.E("div", title, body).With(m.Class("table"))
}

// row is a row of cells, heads or data.
func (t *table) row(kind string, cells []string) m.Node {
	var nodes []m.Node
	for i, text := range cells {
		cell := m.E("td", m.T(text))
		if kind == "th" {
			cell = m.E("th", m.T(text)).With(m.A("scope", "col"))
		}
		if i < t.texts {
			cell = cell.With(m.Class("text"))
		}
		nodes = append(nodes, cell)
	}
	return m.E("tr", nodes...)
}

func footer() m.Node {
	var list []m.Node
	for _, d := range definitions() {
		list = append(list, m.E("dt", m.T(d.word)), m.E("dd", m.T(d.means)))
	}
	return m.E("footer", m.E("h2", m.T("Definitions")), m.E("dl", list...))
}
