-- name: schema_exists
-- Whether there is such a schema.
SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = :schema;

-- name: tables
-- What a schema has, to tell ours from another program's.
SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = :schema ORDER BY tablename;

-- name: has_meta
-- Whether the schema says anything about itself.
SELECT to_regclass('meta') IS NOT NULL;

-- name: lock_migrations
-- One process at a time brings the schema up to date; the others wait, and find it so.
SELECT pg_advisory_xact_lock(hashtextextended('headrace migrations of ' || CAST(:schema AS TEXT), 0));

-- name: lock_keys
-- One process at a time notes with which key it writes.
SELECT pg_advisory_xact_lock(hashtextextended('headrace keys of ' || current_schema(), 0));

-- name: keep_owners_away
-- Nobody may own the schema until this transaction ends; false when somebody does.
SELECT pg_try_advisory_xact_lock(hashtextextended('headrace owner of ' || CAST(:schema AS TEXT), 0));

-- name: try_to_own
-- Own the schema for as long as this connection lives; false when another one does.
SELECT pg_try_advisory_lock(hashtextextended('headrace owner of ' || CAST(:schema AS TEXT), 0));

-- name: disown
-- Let the next owner in at once, not when the server has noticed that this connection is gone.
SELECT pg_advisory_unlock(hashtextextended('headrace owner of ' || CAST(:schema AS TEXT), 0));

-- name: is_owned
-- Whether a connection holds the schema now.
WITH wanted (key) AS (SELECT hashtextextended('headrace owner of ' || CAST(:schema AS TEXT), 0))
SELECT 1 FROM pg_catalog.pg_locks, wanted
WHERE locktype = 'advisory' AND granted AND objsubid = 1
  AND database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
  AND CAST(classid AS BIGINT) = (key >> 32) & 4294967295 AND CAST(objid AS BIGINT) = key & 4294967295;

-- name: this_connection
-- What the server calls this connection; its number alone is used again.
SELECT pid, CAST(backend_start AS TEXT) FROM pg_catalog.pg_stat_activity WHERE pid = pg_backend_pid();

-- name: end_connection
-- Free what a connection that this process lost still holds.
SELECT pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity WHERE pid = :pid AND CAST(backend_start AS TEXT) = :began;

-- name: outcome_of
-- What became of a transaction: committed, aborted, in progress; NULL: too long ago to be known.
SELECT pg_xact_status(CAST(CAST(:xid AS TEXT) AS xid8));

-- name: about_server
-- What an operator should know of the server.
SELECT current_setting('server_version'), current_setting('fsync'), current_setting('full_page_writes'), pg_is_in_recovery();

-- name: size
-- How many bytes the tables of a schema take, with their indexes and long values.
SELECT CAST(coalesce(sum(pg_total_relation_size(c.oid)), 0) AS BIGINT)
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = :schema AND c.relkind = 'r';
