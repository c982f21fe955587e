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

-- name: runs_of_job
-- The runs that worked for a job, the newest first.
SELECT id, number, flow, state FROM runs WHERE job_kind = :kind AND job_id = :id ORDER BY pk DESC LIMIT 100

-- name: run_in_short
-- One run without its values.
SELECT pk, id, number, flow, state, reason, location, since_at, next_at, x'' AS input, NULL AS result, NULL AS error, seed, parent, deadline_at, cancel_at,
       created_at, started_at, finished_at, continued_as, begun_at_pos, job_kind, job_id, job_generation, job_owner
FROM runs WHERE pk = :pk

-- name: journal_outline
-- A part of what entered a run, without its values; of children and starts the reference to the run remains.
SELECT seq, command, kind, name, outcome, attempt, started_at, at,
       CASE WHEN kind IN ('child', 'start') AND (outcome = 'mark' OR kind = 'start') AND outcome <> 'error' THEN value END AS reference
FROM journal WHERE run = :run AND seq > :after ORDER BY seq LIMIT :count

-- name: journal_length
-- How many rows have entered a run.
SELECT coalesce(max(seq), 0) FROM journal WHERE run = :run

-- name: journal_of_command
-- What entered a run in answer to one command: a mark, an outcome, or both.
SELECT seq, command, kind, name, arguments, outcome, value, attempt, started_at, at
FROM journal WHERE run = :run AND command = :command ORDER BY seq

-- name: numbers_of
-- The other runs of an id, the newest first.
SELECT id, number, flow, state FROM runs WHERE id = :id ORDER BY number DESC LIMIT :count
