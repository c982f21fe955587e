-- Which subtitles were asked for, and whether that has ended: what the consumer reads out of the events of jobs.

CREATE TABLE subtitles_asked (
    job       TEXT    NOT NULL PRIMARY KEY,
    video_url TEXT    NOT NULL,
    wanted    TEXT    NOT NULL,       -- a language with its flags, as in he:forced
    is_open   INTEGER NOT NULL
);
CREATE INDEX subtitles_asked_by_video ON subtitles_asked (video_url);
