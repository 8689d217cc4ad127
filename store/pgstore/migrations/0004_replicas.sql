-- The number of the form in which records are written. It is raised when every process that has the store open can read
-- the next one.
create table format (
    one    boolean primary key default true check (one),
    number integer not null
);
insert into format (number) values (1);

-- The processes that have the store open to write, and which forms they can read. What has lapsed counts no longer.
create table replicas (
    id      bytea primary key,
    reads   integer not null,
    program text not null,
    until   timestamptz not null
);
