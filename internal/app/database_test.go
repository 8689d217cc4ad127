package app_test

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"countersign/internal/pgdev"
)

// fileOnly leaves a test out where the tests' store is a database, and says why it is about a file alone.
func fileOnly(t *testing.T, why string) {
	t.Helper()
	if *onStore != "bolt" {
		t.Skip("about the store's file: " + why)
	}
}

// databaseURL is that of a database of the test's own. The server does not look at the password.
func databaseURL(t *testing.T) string {
	t.Helper()
	return withPassword(pgdev.Start(t).Database(t))
}

func withPassword(url string) string {
	return strings.Replace(url, "postgres@", "postgres:"+canaryStore+"@", 1)
}

// stored is all that the store holds: the bytes of the file, or the rows of all tables.
func (w *world) stored() string {
	w.t.Helper()
	if w.store == "" {
		return w.read("countersign.db")
	}
	conn, err := pgx.Connect(w.ctx, w.store)
	if err != nil {
		w.t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(w.ctx))
	column := func(sql string) []string {
		rows, err := conn.Query(w.ctx, sql, pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			w.t.Fatal(err)
		}
		all, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			w.t.Fatal(err)
		}
		return all
	}
	if _, err := conn.Exec(w.ctx, "set bytea_output = escape"); err != nil {
		w.t.Fatal(err)
	}
	var text strings.Builder
	for _, table := range column("select schemaname || '.' || quote_ident(tablename) from pg_tables " +
		"where schemaname not in ('pg_catalog', 'information_schema')") {
		text.WriteString(strings.Join(column("select t::text from "+table+" t"), "\n"))
	}
	// What is within a row, and within its bytes, is quoted.
	return strings.NewReplacer(`""`, `"`, `\\\\`, `\`).Replace(text.String())
}

// duplicate returns COUNTERSIGN_STORE for a copy of the store, which no program uses meanwhile.
func (w *world) duplicate() string {
	w.t.Helper()
	if w.store == "" {
		w.write("copy.db", w.read("countersign.db"))
		return "bolt:" + filepath.Join(w.dir, "copy.db")
	}
	at, err := url.Parse(w.store)
	if err != nil {
		w.t.Fatal(err)
	}
	cluster, of := pgdev.Start(w.t), cmp.Or(strings.Trim(at.Path, "/"), at.Query().Get("dbname"))
	cluster.Exec(w.t, "postgres", fmt.Sprintf("create database %s_copy template %s", of, of))
	w.t.Cleanup(func() {
		cluster.Exec(noCancel{w.t}, "postgres", fmt.Sprintf("drop database %s_copy with (force)", of))
	})
	return withPassword(cluster.URL(of + "_copy"))
}

// noCancel is a test at its end, when its own context has ended.
type noCancel struct{ testing.TB }

func (n noCancel) Context() context.Context { return context.WithoutCancel(n.TB.Context()) }
