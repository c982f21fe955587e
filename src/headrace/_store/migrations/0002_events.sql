-- The log of events, who reads it, and the jobs that events move.

CREATE TABLE events (
    pos        INTEGER PRIMARY KEY AUTOINCREMENT,  -- the order of the log; never used again
    id         TEXT    NOT NULL,
    topic      TEXT    NOT NULL,
    kind       TEXT    NOT NULL,            -- the lifecycle of the job that it is about, or empty
    subject    TEXT    NOT NULL,
    slot       INTEGER NOT NULL,            -- of the subject; parts of a subscription share the slots
    seq        INTEGER NOT NULL,            -- the order within the subject
    source     TEXT    NOT NULL,
    time       INTEGER NOT NULL,            -- when it happened
    at         INTEGER NOT NULL,            -- when it was recorded
    version    INTEGER NOT NULL,            -- of its data
    cause      TEXT    NOT NULL,            -- the key of the step or command that published it
    generation INTEGER,                     -- of the job
    applied    INTEGER,                     -- 1: it moved the job, 0: it did not; NULL: its subject is no job
    reason     TEXT    NOT NULL DEFAULT '', -- why it did not
    data       BLOB    NOT NULL
);
CREATE UNIQUE INDEX events_by_id      ON events (id);
CREATE UNIQUE INDEX events_by_subject ON events (kind, subject, seq);
CREATE INDEX events_by_topic          ON events (topic, pos);
CREATE INDEX events_by_time           ON events (at);

CREATE TABLE event_waits (                  -- runs that wait for an event
    run        INTEGER NOT NULL,
    command    INTEGER NOT NULL,
    topic      TEXT    NOT NULL,
    is_pattern INTEGER NOT NULL,
    kind       TEXT,
    subject    TEXT,                        -- NULL: any
    after      INTEGER NOT NULL,
    came       INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (run, command)
) WITHOUT ROWID;
CREATE INDEX event_waits_by_topic ON event_waits (is_pattern, topic);

CREATE TABLE cursors (                      -- how far each subscription is: everything up to pos is handled, held or dead
    subscription TEXT    NOT NULL,
    part         INTEGER NOT NULL,
    pos          INTEGER NOT NULL,
    at           INTEGER NOT NULL,
    stop_at      INTEGER,                   -- a replay ends here; NULL: it goes on for ever
    paused       INTEGER NOT NULL DEFAULT 0,
    holder       TEXT,
    until        INTEGER,
    fence        INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (subscription, part)
) WITHOUT ROWID;

CREATE TABLE held (                         -- subjects that wait for the next attempt at one event, and their later events behind it
    subscription TEXT    NOT NULL,
    pos          INTEGER NOT NULL,
    kind         TEXT    NOT NULL,
    subject      TEXT    NOT NULL,
    attempt      INTEGER NOT NULL,
    next_at      INTEGER NOT NULL,
    error        BLOB,
    alone        INTEGER NOT NULL,
    PRIMARY KEY (subscription, pos)
) WITHOUT ROWID;

CREATE INDEX held_by_subject ON held (subscription, kind, subject);

CREATE TABLE dead_letters (
    pk           INTEGER PRIMARY KEY AUTOINCREMENT,
    subscription TEXT    NOT NULL,
    pos          INTEGER NOT NULL,
    attempts     INTEGER NOT NULL,
    error        BLOB    NOT NULL,
    first_at     INTEGER NOT NULL,
    at           INTEGER NOT NULL,
    state        TEXT    NOT NULL,          -- dead, redriven, handled, dismissed
    redriven_at  INTEGER
);
CREATE UNIQUE INDEX dead_letters_by_event ON dead_letters (subscription, pos);
CREATE INDEX dead_letters_dead            ON dead_letters (subscription, pk) WHERE state = 'dead';

CREATE TABLE jobs (
    lifecycle  TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    state      TEXT    NOT NULL,
    terminal   INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    data       BLOB    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    pos        INTEGER NOT NULL,            -- of the event that moved it last
    PRIMARY KEY (lifecycle, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX jobs_by_pos ON jobs (pos);
CREATE INDEX jobs_by_state      ON jobs (lifecycle, state, pos);
