-- The records of package approvals. Every table starts with the workspace; ids compare by their bytes. A record is the
-- JSON of the program's type, byte for byte, or that sealed under a key (see store_keys); the columns beside it are
-- what is looked up and reported, and always follow from it. Text columns hold no zero byte: see records_text.go.
--
-- Columns like pending_id hold the id of rows that a list is about, and nothing in all others. The list is ordered by
-- that column, so that its own small index is the only one that can serve it, whatever the planner knows of the table:
-- a list of what waits never reads what was decided.

create table store_keys (
    number     smallint primary key,   -- the first byte of every value that the key has sealed
    id         text not null,          -- in the operator's keyring
    salt       bytea not null,
    check_text bytea not null
);

create table run_records (
    workspace    text collate "C" not null,
    id           text collate "C" not null,
    surface      text collate "C" not null,
    channel      text collate "C" not null,
    thread       text collate "C" not null,
    direct       boolean not null,
    agent        text collate "C" not null,
    requester    text collate "C" not null,
    cancelled_by text collate "C" not null,
    status       text collate "C" not null,
    lease_until  timestamptz not null,   -- a time that is zero in the program is in the year 1 here
    created      timestamptz not null,
    ended        timestamptz,            -- of runs that have ended
    open_id      text collate "C" generated always as (
        case when status not in ('done', 'failed', 'cancelled') then id end) stored,
    working_id   text collate "C" generated always as (case when status in ('queued', 'running') then id end) stored,
    record       bytea not null,
    primary key (workspace, id)
);
create index run_records_open on run_records (workspace, open_id) where open_id is not null;
create index run_records_open_place on run_records (workspace, surface, channel, thread, open_id)
    where open_id is not null;
create index run_records_open_requester on run_records (workspace, requester, open_id) where open_id is not null;
create index run_records_open_channel on run_records (workspace, channel, open_id) where open_id is not null;
create index run_records_working on run_records (workspace, working_id) where working_id is not null;
create index run_records_ended on run_records (workspace, ended, id) where ended is not null;

create table events (
    workspace text collate "C" not null,
    key       text collate "C" not null,
    at        timestamptz not null,
    primary key (workspace, key)
);

create table inputs (
    workspace text collate "C" not null,
    surface   text collate "C" not null,
    channel   text collate "C" not null,
    thread    text collate "C" not null,
    id        text collate "C" not null,
    record    bytea not null,
    primary key (workspace, surface, channel, thread, id)
);

create table states (
    workspace text collate "C" not null,
    run       text collate "C" not null,
    head      bytea not null,
    primary key (workspace, run)
);

create table state_chunks (
    workspace text collate "C" not null,
    run       text collate "C" not null,
    start     bigint not null,
    items     bytea not null,
    primary key (workspace, run, start)
);

create table request_heads (
    workspace  text collate "C" not null,
    id         text collate "C" not null,
    run        text collate "C" not null,
    channel    text collate "C" not null,
    agent      text collate "C" not null,
    tool       text collate "C" not null,
    kind       text collate "C" not null,
    requester  text collate "C" not null,
    people     text[] collate "C" not null,   -- who asked, and who has given an answer that counts
    status     text collate "C" not null,
    outcome    text collate "C" not null,
    unreviewed boolean not null,
    decisions  jsonb not null,                -- who answered what, when and which way; never why
    digest     bytea not null,
    created    timestamptz not null,
    settled    timestamptz not null,
    expires    timestamptz not null,
    pending_id text collate "C" generated always as (case when status = 'pending' then id end) stored,
    settled_id text collate "C" generated always as (case when status <> 'pending' then id end) stored,
    record     bytea not null,
    primary key (workspace, id)
);
create index request_heads_pending on request_heads (workspace, pending_id) where pending_id is not null;
create index request_heads_pending_requester on request_heads (workspace, requester, pending_id)
    where pending_id is not null;
create index request_heads_settled on request_heads (workspace, settled_id) where settled_id is not null;
-- The workspace comes last, so that this index is never taken for one of the workspace alone.
create index request_heads_run on request_heads (run, id, workspace);

create table request_contents (
    workspace text collate "C" not null,
    id        text collate "C" not null,
    record    bytea not null,
    primary key (workspace, id)
);

create table callbacks (
    workspace text collate "C" not null,
    request   text collate "C" not null,
    record    bytea not null,
    primary key (workspace, request)
);

create table effect_records (
    workspace text collate "C" not null,
    run       text collate "C" not null,
    id        text collate "C" not null,
    request   text collate "C" not null,
    by_grant  text collate "C" not null,
    agent     text collate "C" not null,
    tool      text collate "C" not null,
    attempt   bigint not null,
    outcome   text collate "C" not null,
    digest    bytea not null,
    intent    timestamptz not null,
    done      timestamptz not null,
    record    bytea not null,
    primary key (workspace, run, id)
);

create table grants (
    workspace text collate "C" not null,
    id        text collate "C" not null,
    agent     text collate "C" not null,
    tool      text collate "C" not null,
    expires   timestamptz not null,
    open      boolean not null,
    record    bytea not null,
    primary key (workspace, id)
);
create index grants_open on grants (workspace, agent, tool, expires, id) where open;

-- An entry has no seq until it is sealed. Entries of the trail's first form have no id.
create table audit (
    workspace text collate "C" not null,
    seq       bigint constraint audit_continues check (seq > 0),
    id        text collate "C",
    at        timestamptz not null,
    action    text collate "C" not null,
    actor     text collate "C" not null,
    run       text collate "C" not null,
    request   text collate "C" not null,
    unsealed_id text collate "C" generated always as (case when seq is null then id end) stored,
    record    bytea not null,
    constraint audit_named check (seq is not null or id is not null)
);
create unique index audit_seq on audit (workspace, seq) where seq is not null;
create unique index audit_id on audit (workspace, id) where id is not null;
create index audit_unsealed on audit (workspace, unsealed_id) where unsealed_id is not null;

-- Notifications that wait, and those that were given up.
create table outbox (
    workspace text collate "C" not null,
    surface   text collate "C" not null,
    channel   text collate "C" not null,
    thread    text collate "C" not null,
    copy      text collate "C" not null,
    id        text collate "C" not null,
    direct    boolean not null,
    created   timestamptz not null,
    record    bytea not null,
    primary key (workspace, surface, channel, thread, copy, id)
) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);

create table dead_letters (
    workspace text collate "C" not null,
    id        text collate "C" not null,
    surface   text collate "C" not null,
    channel   text collate "C" not null,
    thread    text collate "C" not null,
    copy      text collate "C" not null,
    dead      timestamptz not null,
    record    bytea not null,
    primary key (workspace, id, surface, channel, thread, copy)
);

create table sessions (
    workspace text collate "C" not null,
    surface   text collate "C" not null,
    channel   text collate "C" not null,
    thread    text collate "C" not null,
    n         bigint not null,             -- from 0, without gaps
    key       text collate "C" not null,
    appended  timestamptz not null,
    items     bytea not null,
    first_thread text collate "C" generated always as (case when n = 0 then thread end) stored,
    primary key (workspace, surface, channel, thread, n)
);
create index sessions_first on sessions (workspace, surface, channel, first_thread) where first_thread is not null;
create unique index sessions_key on sessions (key, thread, channel, surface, workspace);

create table installations (
    workspace text collate "C" primary key,
    record    bytea not null
);

-- Views for reports. They hold ids, names, statuses and times, and nothing that a person or a model wrote: who may read
-- them needs no right on the tables, nor the keys of a store that is encrypted.

create view runs as
    select workspace, id, surface, channel, thread, agent, requester, nullif(cancelled_by, '') as cancelled_by, status,
        nullif(created, '0001-01-01Z') as created, nullif(ended, '0001-01-01Z') as ended
    from run_records;

create view requests as
    select workspace, id, run, channel, agent, tool, kind, requester, status, outcome, unreviewed,
        encode(digest, 'hex') as digest, jsonb_array_length(decisions) as decisions,
        nullif(created, '0001-01-01Z') as created, nullif(settled, '0001-01-01Z') as settled,
        nullif(expires, '0001-01-01Z') as expires
    from request_heads;

create view decisions as
    select r.workspace, r.id as request, r.run, r.tool, d.n as number, d.value ->> 'id' as id,
        d.value ->> 'by' as person, d.value ->> 'for' as on_behalf_of, d.value ->> 'verdict' as verdict,
        d.value ->> 'via' as via, coalesce((d.value ->> 'void')::boolean, false) as void,
        (d.value ->> 'at')::timestamptz as at
    from request_heads r, jsonb_array_elements(r.decisions) with ordinality as d (value, n);

create view effects as
    select workspace, run, id, nullif(request, '') as request, nullif(by_grant, '') as by_grant, agent, tool, attempt,
        outcome, encode(digest, 'hex') as digest, nullif(intent, '0001-01-01Z') as intent,
        nullif(done, '0001-01-01Z') as done
    from effect_records;
