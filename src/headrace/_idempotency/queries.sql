-- name: remembered
-- What is known of a key, unless that was too long ago.
SELECT hash, status, type, body FROM idempotency WHERE key = :key AND at > :after

-- name: note_request
-- A request is carried out in this very transaction. What is there already is overwritten only where it is too old to count.
INSERT INTO idempotency (key, route, hash, at) VALUES (:key, :route, :hash, :at)
ON CONFLICT (key) DO UPDATE SET route = excluded.route, hash = excluded.hash, status = NULL, type = NULL, body = NULL, at = excluded.at
WHERE idempotency.at <= :old

-- name: noted_at
-- When the request of a key was sent.
SELECT at FROM idempotency WHERE key = :key

-- name: keep_answer
-- What is about to be answered.
INSERT INTO idempotency (key, route, hash, status, type, body, at) VALUES (:key, :route, :hash, :status, :type, :body, :at)
ON CONFLICT (key) DO UPDATE SET route = excluded.route, hash = excluded.hash, status = excluded.status, type = excluded.type,
    body = excluded.body, at = excluded.at

-- name: forget_old
-- A few of those that are too old to count.
DELETE FROM idempotency WHERE key IN (SELECT key FROM idempotency WHERE at <= :before ORDER BY at LIMIT :count)
