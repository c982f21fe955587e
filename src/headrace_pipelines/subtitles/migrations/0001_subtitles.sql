-- What the subtitles pipeline keeps beside its events and jobs.

CREATE TABLE subtitles_bodies (       -- what was downloaded once is never paid for again
    provider TEXT    NOT NULL,
    file_id  TEXT    NOT NULL,
    name     TEXT    NOT NULL,
    content  BLOB    NOT NULL,
    at       INTEGER NOT NULL,
    PRIMARY KEY (provider, file_id)
);

CREATE TABLE subtitles_searches (     -- answers of providers, for a while
    key   TEXT    NOT NULL PRIMARY KEY,
    found TEXT    NOT NULL,
    until INTEGER NOT NULL
);

CREATE TABLE subtitles_offers (       -- why this subtitle: what was found for a job, ranked
    job      TEXT    NOT NULL,
    attempt  INTEGER NOT NULL,
    language TEXT    NOT NULL,
    offers   TEXT    NOT NULL,
    at       INTEGER NOT NULL,
    PRIMARY KEY (job, attempt, language)
);

CREATE TABLE subtitles_denied (       -- subtitles that are not to be used
    provider TEXT    NOT NULL,
    file_id  TEXT    NOT NULL,
    reason   TEXT    NOT NULL,
    at       INTEGER NOT NULL,
    PRIMARY KEY (provider, file_id)
);

CREATE TABLE subtitles_files (        -- what was written, so that only our own files are ever replaced
    path      TEXT    NOT NULL PRIMARY KEY,
    job       TEXT    NOT NULL,
    video_url TEXT    NOT NULL,
    language  TEXT    NOT NULL,       -- with its flags, as in he:forced
    provider  TEXT    NOT NULL,       -- or the model that translated it
    file_id   TEXT    NOT NULL,
    machine   INTEGER NOT NULL,
    score     INTEGER NOT NULL,
    sha256    TEXT    NOT NULL,
    cues      INTEGER NOT NULL,
    source    TEXT,                   -- of a translation: the file that was translated
    at        INTEGER NOT NULL
);
CREATE INDEX subtitles_files_by_job ON subtitles_files (job);
CREATE INDEX subtitles_files_by_video ON subtitles_files (video_url);

CREATE TABLE subtitles_chunks (       -- accepted parts of translations: checkpoint and cache in one
    key               TEXT    NOT NULL PRIMARY KEY,
    texts             TEXT    NOT NULL,   -- null for a line for which nothing good enough came back
    model             TEXT    NOT NULL,
    prompt_tokens     INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    cost              REAL    NOT NULL,
    at                INTEGER NOT NULL
);

CREATE TABLE subtitles_translations ( -- how far the translation of a job is
    job      TEXT    NOT NULL,
    attempt  INTEGER NOT NULL,
    chunks   INTEGER NOT NULL,
    cues     INTEGER NOT NULL,
    began_at INTEGER NOT NULL,
    PRIMARY KEY (job, attempt)
);

CREATE TABLE subtitles_translated (   -- its parts that are done
    job     TEXT    NOT NULL,
    attempt INTEGER NOT NULL,
    place   INTEGER NOT NULL,
    key     TEXT    NOT NULL,
    cached  INTEGER NOT NULL,
    PRIMARY KEY (job, attempt, place)
);

CREATE TABLE subtitles_services (     -- what an outside service has told us: tokens, quotas, until when it wants to be left alone
    name  TEXT    NOT NULL PRIMARY KEY,
    state BLOB    NOT NULL,
    at    INTEGER NOT NULL
);

CREATE TABLE subtitles_media (        -- the library as it was seen last
    path  TEXT    NOT NULL PRIMARY KEY,
    facts TEXT    NOT NULL,           -- size, time, what lies beside it
    at    INTEGER NOT NULL
);

CREATE TABLE subtitles_counts (       -- what the metrics consumer has counted
    name   TEXT NOT NULL,
    labels TEXT NOT NULL,
    value  REAL NOT NULL,
    PRIMARY KEY (name, labels)
);
