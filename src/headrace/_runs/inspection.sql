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
