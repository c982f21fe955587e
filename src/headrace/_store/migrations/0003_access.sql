-- Who may ask the server for what, and what it has answered.

CREATE TABLE tokens (
    pk           INTEGER PRIMARY KEY,
    id           TEXT    NOT NULL UNIQUE,   -- the middle of the token, which anybody may see
    name         TEXT    NOT NULL,
    hash         BLOB    NOT NULL,          -- SHA-256 of the whole token, which is kept nowhere
    scope        TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER,                   -- to the minute
    revoked_at   INTEGER
);
CREATE UNIQUE INDEX tokens_by_name ON tokens (name) WHERE revoked_at IS NULL; -- a name is free again when its token is revoked

CREATE TABLE sessions (                     -- browsers that have logged in with a token
    hash       BLOB    PRIMARY KEY,         -- SHA-256 of what the cookie holds
    token      INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX sessions_by_token  ON sessions (token);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

CREATE TABLE idempotency (                  -- requests that came with a key, so that none is carried out twice
    key    TEXT    PRIMARY KEY,
    route  TEXT    NOT NULL,                -- for people
    hash   BLOB    NOT NULL,                -- SHA-256 of the request
    status INTEGER,                         -- NULL: carried out, but the process died before it answered
    type   TEXT,
    body   BLOB,
    at     INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX idempotency_by_age ON idempotency (at);
