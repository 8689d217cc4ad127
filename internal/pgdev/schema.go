package pgdev

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"testing"
)

// schemas are those of the database postgres that tests have used.
type schemas struct {
	sync.Mutex
	made  int
	empty []string // as their stores left them, without rows
}

// take returns the name of a schema that nobody else uses: an empty one, or one that is not there yet.
func (s *schemas) take() string {
	s.Lock()
	defer s.Unlock()
	if n := len(s.empty); n > 0 {
		name := s.empty[n-1]
		s.empty = s.empty[:n-1]
		return name
	}
	s.made++
	return fmt.Sprintf("test_%d", s.made)
}

func (s *schemas) give(name string) {
	s.Lock()
	defer s.Unlock()
	s.empty = append(s.empty, name)
}

// Schema names a schema for a store of the test's own, in a database that tests share, and returns the URL with it: it
// costs less than a database. Where an earlier test has closed all its stores there, it may hold their tables, without
// any record: making and dropping them takes ten times as long as a test.
func (c *Cluster) Schema(t testing.TB) string {
	t.Helper()
	name := c.schemas.take()
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context()) // which has ended by now
		if c.exec(ctx, "postgres", fmt.Sprintf(emptied, name)) == nil {
			c.schemas.give(name)
			return
		}
		c.exec(ctx, "postgres", "drop schema if exists "+name+" cascade")
	})
	u, err := url.Parse(c.URL("postgres"))
	need(t, err)
	q := u.Query()
	q.Set("schema", name)
	u.RawQuery = q.Encode()
	return u.String()
}

// emptied deletes the records in a schema, and fails where it is no use to the next test: there is no store, one was
// not closed and may still be at work, or so much was in it that what is dead would slow down who comes next.
const emptied = `do $$
declare
	name text;
	rows bigint;
	total bigint := 0;
begin
	set local search_path = %s;
	if exists (select from replicas) then
		raise 'a store is still open';
	end if;
	for name in select tablename from pg_tables where schemaname = current_schema
		and tablename not in ('migrations', 'format', 'river_migration')
	loop
		execute format('delete from %%I', name);
		get diagnostics rows = row_count;
		total := total + rows;
	end loop;
	if total > 5000 then
		raise '%% rows', total;
	end if;
end $$`
