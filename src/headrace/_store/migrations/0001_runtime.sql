-- Runs and all that belongs to them. Instants are microseconds since 1970 UTC.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE runs (
    pk          INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again: others remember it
    id          TEXT    NOT NULL,
    number      INTEGER NOT NULL,           -- 1 for the first run of this id
    flow        TEXT    NOT NULL,           -- pipeline.flow
    state       TEXT    NOT NULL,
    reason      TEXT    NOT NULL DEFAULT '',
    location    TEXT    NOT NULL DEFAULT '',-- file:line where the code waits
    since_at    INTEGER NOT NULL,
    next_at     INTEGER,                    -- when something is due for an open run; NULL: nothing by itself
    input       BLOB    NOT NULL,
    result      BLOB,
    error       BLOB,
    seed        INTEGER NOT NULL,           -- of the run's own random numbers
    parent      INTEGER,                    -- pk of the run that created this one
    deadline_at INTEGER,
    cancel_at   INTEGER,                    -- when cancelling was asked for
    created_at  INTEGER NOT NULL,
    started_at  INTEGER,
    finished_at INTEGER,
    continued_as INTEGER,                   -- number of the run that goes on in its place
    begun_at_pos INTEGER NOT NULL DEFAULT 0,-- where the log of events ended when it was created; it waits for later ones
    job_kind     TEXT,                      -- the job that it works for: lifecycle, id, generation
    job_id       TEXT,
    job_generation INTEGER,
    job_owner    INTEGER NOT NULL DEFAULT 0 -- 1: the end of the run is an event of the job
);
CREATE UNIQUE INDEX runs_by_id     ON runs (id, number);
CREATE INDEX runs_open             ON runs (state, pk)    WHERE finished_at IS NULL;
CREATE INDEX runs_due              ON runs (next_at, pk)  WHERE next_at IS NOT NULL;
CREATE INDEX runs_open_by_pk       ON runs (pk)           WHERE finished_at IS NULL;
CREATE INDEX runs_by_flow          ON runs (flow, pk);
CREATE INDEX runs_by_job          ON runs (job_kind, job_id) WHERE job_kind IS NOT NULL;
CREATE INDEX runs_by_parent        ON runs (parent)       WHERE parent IS NOT NULL;
-- A run enters these once, when it ends; what changes while it goes on costs nothing here.
CREATE INDEX runs_ended            ON runs (state, flow, pk)     WHERE finished_at IS NOT NULL;
CREATE INDEX runs_failed           ON runs (state, finished_at)  WHERE state IN ('failed', 'timed_out');

CREATE TABLE journal (
    run        INTEGER NOT NULL,
    seq        INTEGER NOT NULL,            -- the order in which completions enter the flow
    command    INTEGER NOT NULL,            -- ordinal of the command, -1 for what the outside did to the run
    kind       TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    arguments  BLOB,
    outcome    TEXT    NOT NULL,            -- ok, error, cancelled; mark: no completion, only a trace
    value      BLOB,
    attempt    INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    PRIMARY KEY (run, seq)
) WITHOUT ROWID;

CREATE TABLE attempts (                     -- the failed ones; the last one is in the journal
    run        INTEGER NOT NULL,
    command    INTEGER NOT NULL,
    attempt    INTEGER NOT NULL,
    name       TEXT    NOT NULL,
    error      BLOB    NOT NULL,
    started_at INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    next_at    INTEGER,                     -- when the next attempt is due; NULL: as soon as possible
    PRIMARY KEY (run, command, attempt)
) WITHOUT ROWID;

CREATE TABLE progress (                     -- the last word of a step under way
    run     INTEGER NOT NULL,
    command INTEGER NOT NULL,
    value   BLOB    NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (run, command)
) WITHOUT ROWID;

CREATE TABLE awaited (                      -- who waits for the end of which run
    run     INTEGER NOT NULL,
    waiter  INTEGER NOT NULL,
    command INTEGER NOT NULL,
    PRIMARY KEY (run, waiter, command)
) WITHOUT ROWID;
CREATE INDEX awaited_by_waiter ON awaited (waiter, command);

CREATE TABLE inbox (                        -- messages that no receive has taken yet
    pk     INTEGER PRIMARY KEY AUTOINCREMENT,
    run    INTEGER NOT NULL,
    topic  TEXT    NOT NULL,
    value  BLOB    NOT NULL,
    at     INTEGER NOT NULL
);
CREATE INDEX inbox_by_run ON inbox (run, pk);

CREATE TABLE payloads (                     -- values too large for a row, by content
    hash  BLOB PRIMARY KEY,
    value BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE incidents (                    -- what an operator would want to know later
    pk     INTEGER PRIMARY KEY,
    at     INTEGER NOT NULL,
    run    INTEGER,
    name   TEXT NOT NULL,
    detail TEXT NOT NULL
);
CREATE INDEX incidents_by_run ON incidents (run, pk) WHERE run IS NOT NULL;
