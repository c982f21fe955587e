-- Processes that share the parts of subscriptions, and what workers tell the owner. A file has one process and needs neither.

CREATE TABLE workers (
    name          TEXT    PRIMARY KEY,      -- stands as holder in cursors, too
    host          TEXT    NOT NULL,
    pid           INTEGER NOT NULL,
    subscriptions TEXT    NOT NULL,         -- those that it works for, and of how many parts each, as JSON
    began_at      INTEGER NOT NULL,
    until         INTEGER NOT NULL          -- without another word by then it counts as dead
) WITHOUT ROWID;

CREATE TABLE calls (                        -- runs that a worker began, woke or stopped, and that the owner has to look at
    pk  INTEGER PRIMARY KEY AUTOINCREMENT,
    run INTEGER NOT NULL
);
