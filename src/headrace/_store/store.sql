-- name: owner_epoch
-- Which opening for writing owns the file.
SELECT value FROM meta WHERE name = 'owner_epoch';

-- name: meta_value
-- What the file says about itself.
SELECT value FROM meta WHERE name = :name;

-- name: set_meta
-- Write down what the file says about itself.
INSERT INTO meta (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: put_payload
-- A value too large for a row, once per content.
INSERT INTO payloads (hash, value) VALUES (:hash, :value) ON CONFLICT DO NOTHING

-- name: payload
-- A value put aside.
SELECT value FROM payloads WHERE hash = :hash

-- name: lock_log
-- From here to its end this transaction alone appends to the log; SQLite has one writer anyway.
SELECT 1;

-- name: lock_log
-- dialect: postgres
-- From here to its end this transaction alone appends to the log, so that positions grow in the order of commits.
SELECT pg_advisory_xact_lock(hashtext(current_schema() || '.events'));
