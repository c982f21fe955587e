-- Where webhooks go, and how the last one of each went.

CREATE TABLE endpoints (
    name          TEXT    PRIMARY KEY,
    url           TEXT    NOT NULL,           -- sealed where there is a key: the path may be as good as a password
    topics        TEXT    NOT NULL,           -- patterns, as JSON
    filter        TEXT    NOT NULL,
    allow_private INTEGER NOT NULL,
    secret        BLOB    NOT NULL,           -- sealed, as all values are
    old_secret    BLOB,                       -- signs too, until the receiver knows the new one
    old_until     INTEGER,
    created_at    INTEGER NOT NULL,
    disabled_at   INTEGER,                    -- NULL: it gets webhooks
    reason        TEXT    NOT NULL DEFAULT '',
    last_at       INTEGER,                    -- of the last attempt, whatever it was
    last_event    TEXT,
    last_topic    TEXT,
    last_status   INTEGER,                    -- of the answer; NULL: there was none
    last_error    TEXT,
    failures      INTEGER NOT NULL DEFAULT 0  -- attempts since the last one that went well
) WITHOUT ROWID;
