package pgdev

import (
	"context"
	"testing"
)

// TestSchemaIsEmpty: what one test leaves in a schema no other one finds; a store that was not closed keeps its schema
// for itself, and so does one that was full.
func TestSchemaIsEmpty(t *testing.T) {
	c := Start(t)
	for _, tt := range []struct {
		name, left string
		again      bool
	}{
		{"nothing", "", true},
		{"records", "insert into jobs values ('a'), ('b'); insert into format values (1)", true},
		{"an open store", "insert into replicas values ('r')", false},
		{"very much", "insert into jobs select n from generate_series(1, 5001) n", false},
		{"no store", "drop table replicas", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			name := "test_own"
			c.exec(context.Background(), "postgres", "create schema if not exists "+name)
			t.Run("before", func(t *testing.T) {
				c.schemas.give(name)
				c.Schema(t)
				tables := "create table if not exists replicas (id text); create table if not exists jobs (id text);" +
					"create table if not exists format (number integer);"
				c.Exec(t, "postgres", "set search_path = "+name+";"+tables+tt.left)
			})
			if got := c.schemas.take(); (got == name) != tt.again {
				t.Fatalf("the next test has %s", got)
			}
			url := c.URL("postgres")
			if tt.again && count(t, url, name+".jobs") > 0 {
				t.Error("the next test finds records")
			}
			if n := count(t, url, "pg_namespace where nspname = '"+name+"'"); !tt.again && n > 0 {
				t.Error("the schema is left")
			}
		})
	}
}
