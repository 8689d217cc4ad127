package pgstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// rowStatement writes one row of a table, or, in another form, as many as there are.
type rowStatement struct {
	table string
	keys  int // so many of the arguments, the first ones, are the row's key
	one   string
	many  string // each argument is an array with an element for each row
	// whole says that the row replaces what was there, so that of two with the same key the later one counts.
	whole bool
	isNew bool // it must not be there
	// join makes statements of those of several transactions; nil: many does.
	join func([]statement) ([]statement, error)
}

// put has a row written with the next round trip. none is what the transaction fails with when the statement was made
// by oneRow and touches no row.
func (t *tx) put(r *rowStatement, none error, args ...any) {
	t.add(statement{row: r, sql: r.one, args: args, none: none, places: []string{placeIn(r.table, args[:r.keys]...)}})
}

// placeIn names what lies in a table under a key. The parts of a key hold no zero byte; see text.
func placeIn(table string, key ...any) string {
	var b strings.Builder
	b.WriteString(table)
	for _, part := range key {
		b.WriteByte(0)
		if s, is := part.(string); is {
			b.WriteString(s)
		} else {
			fmt.Fprint(&b, part)
		}
	}
	return b.String()
}

// column is one with the type that its values are sent as; text unless it says something else. What is a list itself,
// or JSON, is sent as text.
type column struct{ name, sent, cast string }

func columnsFrom(list []string) []column {
	all := make([]column, len(list))
	for i, c := range list {
		name, kind, _ := strings.Cut(c, " ")
		all[i] = column{name: name, sent: "text"}
		switch kind {
		case "":
		case "text[]", "jsonb":
			all[i].cast = "::" + kind
		default:
			all[i].sent = kind
		}
	}
	return all
}

// upsert returns a statement that puts a row in the place of the one with the same key: the first so many columns.
func upsert(table string, keys int, columns ...string) *rowStatement {
	var names, sets []string
	for i, c := range columnsFrom(columns) {
		names = append(names, c.name)
		if i >= keys {
			sets = append(sets, c.name+" = excluded."+c.name)
		}
	}
	action := "nothing"
	if len(sets) > 0 {
		action = "update set " + strings.Join(sets, ", ")
	}
	tail := fmt.Sprintf(" on conflict (%s) do %s", strings.Join(names[:keys], ", "), action)
	r := insert(table, keys, tail, columns...)
	r.whole = true
	return r
}

// insertNew returns a statement that adds a row with a key that must not be there.
func insertNew(table string, keys int, columns ...string) *rowStatement {
	r := insert(table, keys, "", columns...)
	r.isNew = true
	return r
}

// insert returns a statement that adds a row.
func insert(table string, keys int, tail string, columns ...string) *rowStatement {
	var names, values, rows []string
	for i, c := range columnsFrom(columns) {
		names = append(names, c.name)
		values = append(values, fmt.Sprintf("$%d", i+1))
		rows = append(rows, "u."+c.name+c.cast)
	}
	into := fmt.Sprintf("insert into %s (%s) ", table, strings.Join(names, ", "))
	return &rowStatement{table: table, keys: keys,
		one:  into + "values (" + strings.Join(values, ", ") + ")" + tail,
		many: into + "select " + strings.Join(rows, ", ") + " from " + rowsGiven(columns) + tail,
	}
}

// change returns a statement that changes the row with the key: the first so many columns. There must be one.
func change(table string, keys int, columns ...string) *rowStatement {
	var ones, is, sets []string
	for i, c := range columnsFrom(columns) {
		if i < keys {
			ones = append(ones, fmt.Sprintf("%s = $%d", c.name, i+1))
			is = append(is, fmt.Sprintf("r.%[1]s = u.%[1]s", c.name))
			continue
		}
		sets = append(sets, c.name+" = ")
		ones = append(ones, fmt.Sprintf("%s = $%d", c.name, i+1))
	}
	one, many := make([]string, len(sets)), make([]string, len(sets))
	for i, c := range columnsFrom(columns)[keys:] {
		one[i] = sets[i] + fmt.Sprintf("$%d", keys+i+1)
		many[i] = sets[i] + "u." + c.name + c.cast
	}
	return &rowStatement{table: table, keys: keys, whole: true,
		one: oneRow("update " + table + " set " + strings.Join(one, ", ") + " where " +
			strings.Join(ones[:keys], " and ")),
		many: allRows("update " + table + " r set " + strings.Join(many, ", ") + " from " + rowsGiven(columns) +
			" where " + strings.Join(is, " and ")),
	}
}

// remove returns a statement that removes the row with the key, if it is there; of several rows each is removed by
// itself. A join with the rows that are sent would do it at once, but its plan, which may have been made while the
// table was nearly empty, goes over all of the table for each of them; and queues are nearly empty until they are full.
func remove(table string, keys ...string) *rowStatement {
	var is []string
	for i, c := range keys {
		is = append(is, fmt.Sprintf("%s = $%d", c, i+1))
	}
	return &rowStatement{table: table, keys: len(keys), whole: true,
		one: "delete from " + table + " where " + strings.Join(is, " and "),
	}
}

// removeFew is remove for a table that holds little: it removes several rows at once.
func removeFew(table string, keys ...string) *rowStatement {
	r := remove(table, keys...)
	var is []string
	for _, c := range keys {
		is = append(is, fmt.Sprintf("r.%[1]s = u.%[1]s", c))
	}
	r.many = "delete from " + table + " r using " + rowsGiven(keys) + " where " + strings.Join(is, " and ")
	return r
}

// rowsGiven is the table u of the rows that are sent.
func rowsGiven(columns []string) string {
	var names, arrays []string
	for i, c := range columnsFrom(columns) {
		names = append(names, c.name)
		arrays = append(arrays, fmt.Sprintf("$%d::%s[]", i+1, c.sent))
	}
	return "unnest(" + strings.Join(arrays, ", ") + ") as u (" + strings.Join(names, ", ") + ")"
}

// allRows is oneRow for a statement about all rows of its first argument, an array of texts.
func allRows(sql string) string {
	return "with touched as (" + sql + " returning 1) " +
		"select 1 / (count(*) = cardinality($1::text[]))::int from touched"
}

// joined makes of the statements of several transactions, which touch different rows, as few as there can be. Those of
// a table stay where its first one stands, so that all transactions take their locks in the same order, table by table
// and row by row.
func joined(all []statement) (list []statement, err error) {
	var order []*rowStatement
	of := map[*rowStatement][]statement{}
	for _, s := range all {
		if of[s.row] == nil {
			order = append(order, s.row)
		}
		of[s.row] = append(of[s.row], s)
	}
	for _, r := range order {
		same := of[r]
		slices.SortStableFunc(same, func(a, b statement) int { return slices.Compare(a.places, b.places) })
		switch {
		case r.join != nil:
			if same, err = r.join(same); err != nil {
				return nil, err
			}
			list = append(list, same...)
		case r.many == "":
			list = append(list, same...)
		default:
			list = append(list, manyRows(same))
		}
	}
	return list, nil
}

// adjacent joins those of the statements that stand side by side and write different rows of a table.
func adjacent(all []statement) []statement {
	list := all[:0:0]
	for i := 0; i < len(all); {
		n := i + 1
		for n < len(all) && all[i].joins(all[i:n], &all[n]) {
			n++
		}
		list = append(list, manyRows(all[i:n]))
		i = n
	}
	return list
}

// joins reports whether another statement can be made one with those.
func (s *statement) joins(those []statement, other *statement) bool {
	return s.row != nil && s.row == other.row && s.row.many != "" &&
		!slices.ContainsFunc(those, func(o statement) bool { return o.places[0] == other.places[0] })
}

// manyRows makes one statement of those that write a row each.
func manyRows(same []statement) statement {
	if len(same) == 1 {
		return same[0]
	}
	r := same[0].row
	return statement{row: r, sql: r.many, args: argumentsOf(same), none: oneOf(same)}
}

// argumentsOf makes an array of each argument of the statements.
func argumentsOf(same []statement) []any {
	args := make([]any, len(same[0].args))
	for i := range args {
		args[i] = arrayOf(same, i)
	}
	return args
}

// oneOf is what it means that one of the statements touches no row.
func oneOf(same []statement) error {
	if same[0].none == nil {
		return nil
	}
	var all []error
	for _, s := range same {
		all = append(all, s.none)
	}
	return fmt.Errorf("one of these: %w", errors.Join(all...))
}

// arrayOf returns an argument of all the statements.
func arrayOf(same []statement, i int) any {
	switch same[0].args[i].(type) {
	case string:
		return collect[string](same, i)
	case []byte:
		return collect[[]byte](same, i)
	case bool:
		return collect[bool](same, i)
	case int64:
		return collect[int64](same, i)
	case time.Time:
		return collect[time.Time](same, i)
	case *time.Time:
		return collect[*time.Time](same, i)
	}
	panic(fmt.Sprintf("argument %d of %q has values of type %T", i+1, same[0].sql, same[0].args[i]))
}

func collect[T any](same []statement, i int) []T {
	list := make([]T, len(same))
	for n := range same {
		list[n] = same[n].args[i].(T)
	}
	return list
}
