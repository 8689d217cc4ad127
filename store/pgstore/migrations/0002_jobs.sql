-- The jobs that are planned or being handled; see approvals.Job. This table is the truth of them. What River holds are
-- reminders to look at it.
create sequence job_generation as bigint;

create table jobs (
    workspace text collate "C" not null,
    kind text collate "C" not null,
    id text collate "C" not null,
    grp text collate "C" not null,
    place json,
    copy text collate "C" not null,
    -- When the job may be given to a handler. Null: it was deleted while one is at work on it.
    due timestamptz,
    -- Set when a handler asked for a pause: due is not before it, whatever is enqueued.
    not_before timestamptz,
    -- Grows with every Enqueue of the key, since it comes from a sequence.
    generation bigint not null,
    -- The generation with which the job began. A handler of an earlier one was given a job that has been deleted since.
    first bigint not null,
    attempts integer not null default 0,

    -- The claim, while a handler is at work: whose, which of theirs, until when unless it is renewed, and the generation
    -- the handler was given.
    claim_owner bytea,
    claim_number bigint,
    claim_until timestamptz,
    claim_generation bigint,
    -- When to run again after that, because the key was enqueued meanwhile.
    again timestamptz,

    primary key (workspace, kind, id)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
    autovacuum_analyze_scale_factor = 0.1, autovacuum_vacuum_cost_delay = 0);

-- A claim changes no indexed column, so it stays within its page.
create index jobs_due on jobs (due);
