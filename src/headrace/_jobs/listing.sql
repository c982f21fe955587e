-- name: lifecycle_names
-- Which lifecycles have jobs, by hopping from one to the next.
WITH RECURSIVE names (lifecycle) AS (
    SELECT min(lifecycle) FROM jobs
    UNION ALL
    SELECT (SELECT min(lifecycle) FROM jobs WHERE lifecycle > names.lifecycle) FROM names WHERE names.lifecycle IS NOT NULL
)
SELECT lifecycle FROM names WHERE lifecycle IS NOT NULL

-- name: newest
-- The jobs that moved last and that a filter lets through; those that it does not are looked at too, so floor ends the search.
SELECT pos, lifecycle, id FROM jobs
WHERE pos < :before AND pos >= :floor AND (CAST(:part AS TEXT) IS NULL OR instr(lower(id), :part) > 0)
ORDER BY pos DESC LIMIT :count

-- name: newest_in_state
-- The same among the jobs of a lifecycle in a state.
SELECT pos, lifecycle, id FROM jobs
WHERE lifecycle = :lifecycle AND state = :state AND pos < :before AND pos >= :floor
  AND (CAST(:part AS TEXT) IS NULL OR instr(lower(id), :part) > 0)
ORDER BY pos DESC LIMIT :count

-- name: floor
-- Where a search through so many jobs ends.
SELECT pos FROM jobs WHERE pos < :before ORDER BY pos DESC LIMIT 1 OFFSET :reach

-- name: states_of
-- How many jobs of a lifecycle are in each state.
SELECT state, count(*) FROM jobs WHERE lifecycle = :lifecycle GROUP BY state
