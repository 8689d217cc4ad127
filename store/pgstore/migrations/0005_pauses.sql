-- When a handler asked for the pause that not_before is the end of. An instant that has not come is one of a clock that
-- was ahead: the pause is void.
alter table jobs add column paused timestamptz;
