-- name: flow_names
-- The flows that have runs, by hopping through the index instead of reading it.
WITH RECURSIVE names (flow) AS (
    SELECT min(flow) FROM runs
    UNION ALL
    SELECT (SELECT min(flow) FROM runs WHERE flow > names.flow) FROM names WHERE names.flow IS NOT NULL
)
SELECT flow FROM names WHERE flow IS NOT NULL

-- name: journal_page
-- A part of what entered a run, in order; after is the cursor.
SELECT seq, command, kind, name, arguments, outcome, value, attempt, started_at, at
FROM journal WHERE run = :run AND seq > :after ORDER BY seq LIMIT :count

-- name: unfinished_attempts
-- Failed attempts of steps that have no outcome yet.
SELECT command, attempt, name, error, started_at, at, next_at FROM attempts AS a
WHERE run = :run AND NOT EXISTS (SELECT 1 FROM journal AS j WHERE j.run = a.run AND j.command = a.command AND j.outcome <> 'mark')
ORDER BY command, attempt

-- name: identity_of
-- What a run is called.
SELECT id, number, flow, state FROM runs WHERE pk = :pk

-- name: run_in_short
-- One run without its values.
SELECT pk, id, number, flow, state, reason, location, since_at, next_at, x'' AS input, NULL AS result, NULL AS error, seed, parent, deadline_at, cancel_at,
       created_at, started_at, finished_at, continued_as
FROM runs WHERE pk = :pk
