-- A run and a request are changed once or twice after they were written, and none of that touches an index, as long as
-- the page has room for the new version of the row. Otherwise each index gets an entry more, and transactions that have
-- read a neighbour in it conflict. Pages that are there keep what they have.
alter table run_records set (fillfactor = 45);
alter table request_heads set (fillfactor = 45);
