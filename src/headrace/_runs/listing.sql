-- name: newest
-- The newest runs, with no filter.
SELECT pk FROM runs WHERE pk < :before ORDER BY pk DESC LIMIT :count

-- name: newest_of_flow
-- The newest runs of a flow.
SELECT pk FROM runs WHERE flow = :flow AND pk < :before ORDER BY pk DESC LIMIT :count

-- name: newest_ended
-- The newest runs of a flow that ended in a state.
SELECT pk FROM runs WHERE finished_at IS NOT NULL AND state = :state AND flow = :flow AND pk < :before ORDER BY pk DESC LIMIT :count

-- name: newest_where
-- The newest runs that a filter lets through; those that it does not are looked at too, so floor ends the search.
SELECT pk FROM runs
WHERE pk < :before AND pk >= :floor
  AND (CAST(:flow AS TEXT) IS NULL OR flow = :flow) AND (CAST(:state AS TEXT) IS NULL OR state = :state)
  AND (CAST(:pattern AS TEXT) IS NULL OR id LIKE :pattern ESCAPE '!' OR reason LIKE :pattern ESCAPE '!')
ORDER BY pk DESC LIMIT :count

-- name: newest_open_where
-- The same among the open runs in a state.
SELECT pk FROM runs
WHERE finished_at IS NULL AND state = :state AND pk < :before AND pk >= :floor
  AND (CAST(:flow AS TEXT) IS NULL OR flow = :flow)
  AND (CAST(:pattern AS TEXT) IS NULL OR id LIKE :pattern ESCAPE '!' OR reason LIKE :pattern ESCAPE '!')
ORDER BY pk DESC LIMIT :count

-- name: floor
-- Where a search of so many runs ends.
SELECT pk FROM runs WHERE pk < :before ORDER BY pk DESC LIMIT 1 OFFSET :reach

-- name: floor_of_open
-- The same among the open runs in a state.
SELECT pk FROM runs WHERE finished_at IS NULL AND state = :state AND pk < :before ORDER BY pk DESC LIMIT 1 OFFSET :reach

-- name: runs_named
-- All runs of an id, the newest first.
SELECT pk FROM runs WHERE id = :id ORDER BY number DESC LIMIT :count

-- name: count_ended
-- How many runs of each flow ended in each state.
SELECT state, flow, count(*) FROM runs WHERE finished_at IS NOT NULL GROUP BY state, flow

-- name: count_open
-- How many open runs are in each state.
SELECT state, count(*) FROM runs WHERE finished_at IS NULL GROUP BY state

-- name: count_open_of_flow
-- How many of the newest open runs belong to a flow, by state.
SELECT state, count(*) FROM (
    SELECT state, flow FROM runs WHERE finished_at IS NULL ORDER BY pk DESC LIMIT :reach
) AS looked_at
WHERE flow = :flow GROUP BY state

-- name: waiting_groups
-- What the newest waiting runs wait for, and where.
SELECT flow, reason, location, count(*), min(next_at), min(since_at) FROM (
    SELECT flow, reason, location, next_at, since_at FROM runs
    WHERE finished_at IS NULL AND state = 'waiting' ORDER BY pk DESC LIMIT :reach
) AS looked_at
GROUP BY flow, reason, location

-- name: failed_since
-- Runs that failed or timed out after a moment, the latest first.
SELECT pk FROM runs WHERE state IN ('failed', 'timed_out') AND finished_at > :since ORDER BY finished_at DESC LIMIT :count

-- name: count_failed_since
-- How many failed or timed out after a moment.
SELECT count(*) FROM runs WHERE state IN ('failed', 'timed_out') AND finished_at > :since

-- name: due_next
-- The runs for which something falls due next.
SELECT pk FROM runs WHERE next_at IS NOT NULL ORDER BY next_at, pk LIMIT :count
