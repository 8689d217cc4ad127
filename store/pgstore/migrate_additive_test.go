package pgstore

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// notAdditive are statements of migrations that do more than add, each with why replicas of the version before go on
// working beside it all the same. Keys are the migration's name and the statement as readStatements returns it.
var notAdditive = map[string]string{}

// TestMigrationsOnlyAdd: while replicas are replaced, those of the version before work on the schema that the new ones
// have brought up to date. So a migration adds tables, columns that need not be given, and indexes that refuse nothing;
// what it fills are its own tables.
func TestMigrationsOnlyAdd(t *testing.T) {
	t.Parallel()
	list, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		statements := readStatements(m.sql)
		if len(statements) == 0 {
			t.Errorf("%s: no statement was found in it", m.name)
		}
		for _, s := range statements {
			if notAdditive[m.name+": "+s] != "" {
				continue
			}
			if why := breaks(s, statements); why != "" {
				t.Errorf("%s: %s:\n%s\nReplicas of the version before work on it meanwhile (ADR 0034). Do it in two "+
					"releases, or say in notAdditive why it harms none.", m.name, why, s)
			}
		}
	}
}

// TestAdditiveStatements is the control: what would break the version before is found, and what only adds is not.
func TestAdditiveStatements(t *testing.T) {
	t.Parallel()
	const own = "create table mine (id text not null, n integer check (n > 0), primary key (id))"
	for _, s := range []string{
		own, "create sequence numbers as bigint", "create index runs_by on runs (id)",
		"create unique index on mine (id)",
		"alter table runs add column note text", "alter table runs add column n integer not null default 0",
		"alter table runs set (fillfactor = 45)", "insert into mine (id) values ('1')", "comment on table runs is 'x'",
		"alter table mine add constraint positive check (n > 0)", "create view seen as select id from runs",
	} {
		if why := breaks(s, []string{own, s}); why != "" {
			t.Errorf("%s: %s", s, why)
		}
	}
	for _, s := range []string{
		"drop table runs", "drop index runs_by", "alter table runs drop column note", "alter table runs rename to r",
		"alter table runs rename column a to b", "alter table runs alter column a type bigint",
		"alter table runs alter column a set not null", "alter table runs alter column a drop default",
		"alter table runs add column n integer not null", "alter table runs add column n integer unique",
		"alter table runs add column n integer default 0 check (n > 0)",
		"alter table runs add column o text references mine",
		"alter table runs add constraint positive check (n > 0)", "alter table runs add primary key (id)",
		"alter table runs add column a text, drop column b", "create unique index on runs (id)",
		"create unique index once on runs (id)", "insert into runs (id) values ('1')", "update runs set a = 1",
		"delete from runs", "truncate runs", "create trigger t before insert on runs execute function f()",
		"create rule r as on insert to runs do instead nothing", "revoke insert on runs from public",
		"do $$ begin drop table runs; end $$", "alter table runs enable row level security", "drop view seen",
	} {
		if breaks(s, []string{own, s}) == "" {
			t.Errorf("%s: nobody objects", s)
		}
	}
	const text = "-- first; with a comment\ncreate table a (b text default ';'); -- more\n" +
		"alter table a\n\tadd column c text;\n"
	want := []string{"create table a (b text default ';')", "alter table a add column c text"}
	if got := readStatements(text); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("read %q, want %q", got, want)
	}
}

var (
	lineComment = regexp.MustCompile(`--[^\n]*`)
	someSpace   = regexp.MustCompile(`\s+`)
)

// readStatements splits SQL into statements, without comments and superfluous space. A text in quotes stays whole. A
// dollar quote is split, and its parts are found to break something.
func readStatements(sql string) (all []string) {
	sql = lineComment.ReplaceAllString(sql, "")
	var quoted bool
	begin := 0
	for i, c := range sql + ";" {
		switch {
		case c == '\'':
			quoted = !quoted
		case c == ';' && !quoted || i == len(sql):
			s := strings.TrimSpace(someSpace.ReplaceAllString(sql[begin:min(i, len(sql))], " "))
			if s != "" {
				all = append(all, s)
			}
			begin = i + 1
		}
	}
	return all
}

var (
	createsAnything = regexp.MustCompile(`^create (table|sequence|index|view|type) `)
	createsUnique   = regexp.MustCompile(`^create unique index (?:\w+ )?on (\w+) `)
	alters          = regexp.MustCompile(`^alter table (\w+) (.*)$`)
	setsStorage     = regexp.MustCompile(`^set \([^()]*\)$`)
	addsColumn      = regexp.MustCompile(`^add column \w+ [\w ]+?(?: default [^,]*)?$`)
	refuses         = regexp.MustCompile(`\b(unique|primary|check|references|exclude|generated|constraint)\b`)
	inserts         = regexp.MustCompile(`^insert into (\w+) `)
)

// breaks says why a statement of a migration, given all of them, may break the program of the version before; empty:
// it only adds.
func breaks(s string, all []string) string {
	own := func(table string) bool {
		for _, other := range all {
			if strings.HasPrefix(other, "create table "+table+" ") {
				return true
			}
		}
		return false
	}
	if m := createsUnique.FindStringSubmatch(s); m != nil && !own(m[1]) {
		return "it refuses rows that were taken before"
	} else if m != nil || createsAnything.MatchString(s) || strings.HasPrefix(s, "comment on ") {
		return ""
	}
	if m := inserts.FindStringSubmatch(s); m != nil {
		if own(m[1]) {
			return ""
		}
		return "it writes into a table that was there before"
	}
	m := alters.FindStringSubmatch(s)
	switch {
	case m == nil:
		return "it is not known to only add"
	case own(m[1]), setsStorage.MatchString(m[2]):
		return ""
	case !addsColumn.MatchString(m[2]), refuses.MatchString(m[2]):
		return "it changes a table that was there before otherwise than by a column"
	case strings.Contains(m[2], "not null") && !strings.Contains(m[2], " default "):
		return "whoever does not know the column leaves it out, which is refused"
	}
	return ""
}
