-- name: job_without_its_event
-- Jobs whose last move is not in the log.
SELECT lifecycle, id, pos FROM jobs AS j
WHERE NOT EXISTS (SELECT 1 FROM events WHERE pos = j.pos AND kind = j.lifecycle AND subject = j.id AND applied = 1)

-- name: job_behind_its_events
-- Jobs that a later event has moved.
SELECT lifecycle, id, pos FROM jobs AS j
WHERE EXISTS (SELECT 1 FROM events WHERE kind = j.lifecycle AND subject = j.id AND applied = 1 AND pos > j.pos)

-- name: job_without_its_run
-- Jobs in progress that a run worked for that is over.
SELECT j.lifecycle, j.id, j.state FROM jobs AS j
WHERE j.terminal = 0 AND EXISTS (
    SELECT 1 FROM runs WHERE job_kind = j.lifecycle AND job_id = j.id AND job_generation = j.generation AND job_owner = 1
      AND finished_at IS NOT NULL AND continued_as IS NULL
) AND NOT EXISTS (
    SELECT 1 FROM runs WHERE job_kind = j.lifecycle AND job_id = j.id AND job_generation = j.generation AND job_owner = 1 AND finished_at IS NULL
)

-- name: job_value_gone
-- Values of jobs that were put aside and are not there.
SELECT 'job', lifecycle, id FROM jobs WHERE substr(data, 1, 1) = x'00' AND substr(data, 2) NOT IN (SELECT hash FROM payloads)
