-- name: add_token
-- Keep a new token, by its hash, unless another one of its name is good.
INSERT INTO tokens (id, name, hash, scope, created_at) VALUES (:id, :name, :hash, :scope, :at)
ON CONFLICT (name) WHERE revoked_at IS NULL DO NOTHING

-- name: token_by_id
-- The token that a request names, if it is good.
SELECT pk, id, name, scope, created_at, last_used_at, revoked_at, hash FROM tokens WHERE id = :id AND revoked_at IS NULL

-- name: token_by_name
-- The good token of a name.
SELECT pk, id, name, scope, created_at, last_used_at, revoked_at FROM tokens WHERE name = :name AND revoked_at IS NULL

-- name: all_tokens
-- All tokens that were ever made, the oldest first.
SELECT pk, id, name, scope, created_at, last_used_at, revoked_at FROM tokens ORDER BY pk

-- name: any_token
-- Whether there is a good token.
SELECT 1 FROM tokens WHERE revoked_at IS NULL LIMIT 1

-- name: revoke_token
-- From now on this token is good for nothing.
UPDATE tokens SET revoked_at = :at WHERE pk = :pk AND revoked_at IS NULL

-- name: note_use
-- A token was used.
UPDATE tokens SET last_used_at = :at WHERE pk = :pk

-- name: open_session
-- A browser has logged in.
INSERT INTO sessions (hash, token, expires_at) VALUES (:hash, :token, :expires_at)

-- name: session
-- The token behind a session, while both are good.
SELECT t.pk, t.id, t.name, t.scope, t.created_at, t.last_used_at, t.revoked_at
FROM sessions AS s JOIN tokens AS t ON t.pk = s.token
WHERE s.hash = :hash AND s.expires_at > :at AND t.revoked_at IS NULL

-- name: close_session
-- A browser has logged out.
DELETE FROM sessions WHERE hash = :hash

-- name: close_sessions_of
-- Whoever logged in with this token is out.
DELETE FROM sessions WHERE token = :token

-- name: forget_sessions
-- Nobody can use these any more.
DELETE FROM sessions WHERE expires_at <= :at
