-- name: add_endpoint
-- Events go to an address from now on.
INSERT INTO endpoints (name, url, topics, filter, allow_private, secret, created_at)
VALUES (:name, :url, :topics, :filter, :allow_private, :secret, :at)
ON CONFLICT (name) DO NOTHING

-- name: endpoint
-- One endpoint.
SELECT name, url, topics, filter, allow_private, secret, old_secret, old_until, created_at, disabled_at, reason,
       last_at, last_event, last_topic, last_status, last_error, failures
FROM endpoints WHERE name = :name

-- name: all_endpoints
-- All endpoints by name.
SELECT name, url, topics, filter, allow_private, secret, old_secret, old_until, created_at, disabled_at, reason,
       last_at, last_event, last_topic, last_status, last_error, failures
FROM endpoints ORDER BY name

-- name: remove_endpoint
-- Nothing goes there any more.
DELETE FROM endpoints WHERE name = :name

-- name: disable_endpoint
-- Nothing goes there until a person enables it; the first reason stays.
UPDATE endpoints SET disabled_at = :at, reason = :reason WHERE name = :name AND disabled_at IS NULL

-- name: enable_endpoint
-- It goes on.
UPDATE endpoints SET disabled_at = NULL, reason = '', failures = 0 WHERE name = :name

-- name: rotate_secret
-- A new secret signs, and the one before for a while, too.
UPDATE endpoints SET old_secret = secret, old_until = :until, secret = :secret WHERE name = :name

-- name: note_success
-- The last attempt went well.
UPDATE endpoints SET last_at = :at, last_event = :event, last_topic = :topic, last_status = :status, last_error = '', failures = 0
WHERE name = :name

-- name: note_failure
-- The last attempt went wrong.
UPDATE endpoints SET last_at = :at, last_event = :event, last_topic = :topic, last_status = :status, last_error = :error, failures = failures + 1
WHERE name = :name
