-- name: job
-- One job as it is.
SELECT lifecycle, id, state, terminal, generation, data, created_at, updated_at, pos FROM jobs WHERE lifecycle = :lifecycle AND id = :id

-- name: lock_job
-- The same, kept as it is until the transaction ends.
SELECT lifecycle, id, state, terminal, generation, data, created_at, updated_at, pos FROM jobs WHERE lifecycle = :lifecycle AND id = :id

-- name: lock_job
-- dialect: postgres
-- The same, kept as it is until the transaction ends.
SELECT lifecycle, id, state, terminal, generation, data, created_at, updated_at, pos FROM jobs WHERE lifecycle = :lifecycle AND id = :id FOR UPDATE

-- name: open_job
-- A job begins.
INSERT INTO jobs (lifecycle, id, state, terminal, generation, data, created_at, updated_at, pos)
VALUES (:lifecycle, :id, :state, :terminal, :generation, :data, :at, :at, :pos)

-- name: move_job
-- An event moved a job.
UPDATE jobs SET state = :state, terminal = :terminal, generation = :generation, data = :data, updated_at = :at, pos = :pos
WHERE lifecycle = :lifecycle AND id = :id

-- name: list_jobs
-- Jobs, the one that moved last first.
SELECT lifecycle, id, state, terminal, generation, data, created_at, updated_at, pos FROM jobs
WHERE pos < :before AND (CAST(:lifecycle AS TEXT) IS NULL OR lifecycle = :lifecycle) AND (CAST(:state AS TEXT) IS NULL OR state = :state)
  AND (CAST(:search AS TEXT) IS NULL OR instr(id, :search) > 0)
ORDER BY pos DESC LIMIT :count

-- name: count_jobs
-- How many jobs are in each state.
SELECT lifecycle, state, count(*) FROM jobs GROUP BY lifecycle, state ORDER BY lifecycle, state
