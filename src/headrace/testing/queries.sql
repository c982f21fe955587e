-- name: all_runs
-- Every run, oldest first.
SELECT pk FROM runs ORDER BY pk

-- name: next_due
-- The next moment at which a run on disk is due.
SELECT min(next_at) FROM runs WHERE next_at > :now

-- name: set_aside
-- Runs that do not go on by themselves.
SELECT id, number, state, reason FROM runs WHERE finished_at IS NULL AND state IN ('blocked', 'quarantined') ORDER BY pk

-- name: merely_going
-- Runs that should be doing something.
SELECT pk, id, number, state FROM runs WHERE finished_at IS NULL AND state IN ('queued', 'running') ORDER BY pk
