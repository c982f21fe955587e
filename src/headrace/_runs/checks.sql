-- name: journal_without_run
-- Journal rows that belong to no run.
SELECT run, seq, kind, name FROM journal AS j WHERE NOT EXISTS (SELECT 1 FROM runs WHERE pk = j.run)

-- name: attempt_without_run
-- Attempts that belong to no run.
SELECT run, command, attempt, name FROM attempts AS a WHERE NOT EXISTS (SELECT 1 FROM runs WHERE pk = a.run)

-- name: message_without_open_run
-- Messages that nobody will ever receive.
SELECT pk, run, topic FROM inbox AS i WHERE NOT EXISTS (SELECT 1 FROM runs WHERE pk = i.run AND finished_at IS NULL)

-- name: wait_without_run
-- Waits of a run, or for a run, that is not there.
SELECT run, waiter, command FROM awaited AS a
WHERE NOT EXISTS (SELECT 1 FROM runs WHERE pk = a.run) OR NOT EXISTS (SELECT 1 FROM runs WHERE pk = a.waiter)

-- name: two_outcomes
-- Commands that were completed twice.
SELECT run, command, count(*) FROM journal WHERE outcome <> 'mark' AND command >= 0 GROUP BY run, command HAVING count(*) > 1

-- name: state_and_end_differ
-- Runs whose state does not go with whether they have ended.
SELECT id, number, state FROM runs
WHERE (finished_at IS NULL) <> (state IN ('queued', 'running', 'waiting', 'blocked', 'quarantined', 'cancelling'))

-- name: completed_without_result
-- Runs that completed and left nothing, or failed without an error.
SELECT id, number, state FROM runs WHERE (state = 'completed' AND result IS NULL) OR (state = 'failed' AND error IS NULL)

-- name: two_open_runs_of_one_id
-- More than one open run of the same id.
SELECT id, count(*) FROM runs WHERE finished_at IS NULL GROUP BY id HAVING count(*) > 1

-- name: value_gone
-- Values that were put aside and are not there.
SELECT 'run', id, number FROM runs
WHERE (substr(input, 1, 1) = x'00' AND substr(input, 2) NOT IN (SELECT hash FROM payloads))
   OR (substr(result, 1, 1) = x'00' AND substr(result, 2) NOT IN (SELECT hash FROM payloads))
   OR (substr(error, 1, 1) = x'00' AND substr(error, 2) NOT IN (SELECT hash FROM payloads))
UNION ALL
SELECT 'journal', CAST(run AS TEXT), seq FROM journal
WHERE (substr(arguments, 1, 1) = x'00' AND substr(arguments, 2) NOT IN (SELECT hash FROM payloads))
   OR (substr(value, 1, 1) = x'00' AND substr(value, 2) NOT IN (SELECT hash FROM payloads))
UNION ALL
SELECT 'attempts', CAST(run AS TEXT), command FROM attempts WHERE substr(error, 1, 1) = x'00' AND substr(error, 2) NOT IN (SELECT hash FROM payloads)
UNION ALL
SELECT 'progress', CAST(run AS TEXT), command FROM progress WHERE substr(value, 1, 1) = x'00' AND substr(value, 2) NOT IN (SELECT hash FROM payloads)
UNION ALL
SELECT 'inbox', CAST(run AS TEXT), pk FROM inbox WHERE substr(value, 1, 1) = x'00' AND substr(value, 2) NOT IN (SELECT hash FROM payloads)
