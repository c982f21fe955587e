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

-- name: tell_others
-- With the commit, other processes of this store hear that there is something new; of SQLite there are none that would do anything.
SELECT CAST(:what AS TEXT)

-- name: tell_others
-- dialect: postgres
-- With the commit, other processes of this store hear that there is something new.
SELECT pg_notify('headrace', current_schema() || ' ' || CAST(:what AS TEXT))

-- name: payload_is_there
-- Whether a value was put aside before.
SELECT 1 FROM payloads WHERE hash = :hash

-- name: keys_in_use
-- The keys that values may be under, each with the check value that it encrypts.
SELECT name, value FROM meta WHERE substr(name, 1, 4) = 'key:' ORDER BY name

-- name: forget_meta
-- The file does not say this about itself any more.
DELETE FROM meta WHERE name = :name

-- name: payload_head
-- The form and the key of a value that was put aside.
SELECT substr(value, 1, 5) FROM payloads WHERE hash = :hash

-- name: payload_heads
-- The same of all, by address; after is the cursor.
SELECT hash, substr(value, 1, 5) FROM payloads WHERE hash > :after ORDER BY hash LIMIT :count

-- name: forget_payload
-- No row has this address any more.
DELETE FROM payloads WHERE hash = :hash

-- name: all_payloads
-- Every value that was put aside.
SELECT hash, value FROM payloads ORDER BY hash
