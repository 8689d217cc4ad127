package pgstore

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// keyRead reads what lies under one key or, in another form, under as many keys as there are: each argument is an array
// then, and the first column says which of them a row is for.
type keyRead struct {
	table     string
	one, many string
}

// readBy returns a statement that reads columns of the rows with the key, in the order of the second argument's columns
// if there are several. Parts of the key are texts.
func readBy(table, columns, order string, key ...string) *keyRead {
	var ones, is []string
	for i, c := range key {
		ones = append(ones, fmt.Sprintf("%s = $%d", c, i+1))
		is = append(is, fmt.Sprintf("%[1]s = u.%[1]s", c))
	}
	tail := ""
	if order != "" {
		tail = " order by " + order
	}
	return &keyRead{table: table,
		one: "select " + columns + " from " + table + " where " + strings.Join(ones, " and ") + tail,
		many: "select u.n_, r.* from " + rowsNumbered(key) +
			" cross join lateral (select " + columns + " from " + table + " where " + strings.Join(is, " and ") + tail +
			" offset 0) r",
	}
}

// rowsNumbered is rowsGiven with the number of each row, n_.
func rowsNumbered(columns []string) string {
	given := rowsGiven(columns)
	at := strings.LastIndex(given, ") as u (")
	return given[:at] + ") with ordinality as u (" + strings.TrimSuffix(given[at+len(") as u ("):], ")") + ", n_)"
}

// places names what the statement reads with the arguments.
func (r *keyRead) places(args []any) []string { return []string{placeIn(r.table, args...)} }

// numbered are rows whose first column says for which key they are. Whoever reads one does not see that.
type numbered struct{ pgx.Rows }

func (r numbered) Scan(into ...any) error { return r.Rows.Scan(append([]any{nil}, into...)...) }

// number returns for which key the row is, counted from 0.
func (r numbered) number() (n int, err error) {
	into := make([]any, len(r.FieldDescriptions()))
	into[0] = &n
	err = r.Rows.Scan(into...)
	return n - 1, err
}
