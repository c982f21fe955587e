-- name: topic_names
-- Which topics the log has, by hopping from one to the next.
WITH RECURSIVE names (topic) AS (
    SELECT min(topic) FROM events
    UNION ALL
    SELECT (SELECT min(topic) FROM events WHERE topic > names.topic) FROM names WHERE names.topic IS NOT NULL
)
SELECT topic FROM names WHERE topic IS NOT NULL

-- name: newest
-- Where the newest events are that a filter lets through; those that it does not are looked at too, so floor ends the search.
SELECT pos, topic FROM events
WHERE pos < :before AND pos >= :floor
  AND (CAST(:kind AS TEXT) IS NULL OR kind = :kind) AND (CAST(:applied AS BIGINT) IS NULL OR applied = :applied)
  AND (CAST(:part AS TEXT) IS NULL OR instr(lower(subject), :part) > 0)
ORDER BY pos DESC LIMIT :count

-- name: newest_of_topic
-- The same among the events of a topic.
SELECT pos, topic FROM events
WHERE topic = :topic AND pos < :before AND pos >= :floor
  AND (CAST(:kind AS TEXT) IS NULL OR kind = :kind) AND (CAST(:applied AS BIGINT) IS NULL OR applied = :applied)
  AND (CAST(:part AS TEXT) IS NULL OR instr(lower(subject), :part) > 0)
ORDER BY pos DESC LIMIT :count

-- name: newest_of_subject
-- The same among the events of a subject, whose order is that of the log.
SELECT pos, topic FROM events
WHERE kind = :kind AND subject = :subject AND pos < :before AND pos >= :floor AND (CAST(:applied AS BIGINT) IS NULL OR applied = :applied)
ORDER BY seq DESC LIMIT :count

-- name: floor
-- Where a search through so many events ends.
SELECT pos FROM events WHERE pos < :before ORDER BY pos DESC LIMIT 1 OFFSET :reach

-- name: moves_of_subject
-- What a lifecycle has to know of the events of a job, in order.
SELECT seq, topic, applied FROM events WHERE kind = :kind AND subject = :subject ORDER BY seq LIMIT :count

-- name: recorded_behind
-- When the event behind a position was recorded.
SELECT at FROM events WHERE pos > :after ORDER BY pos LIMIT 1

-- name: held_next
-- What a subscription holds, in the order in which it is tried again; errors are large, so only those of the page are read.
SELECT h.kind, h.subject, h.pos, h.attempt, h.next_at, h.error, h.alone, h.begun_at, e.topic
FROM (SELECT pos FROM held WHERE subscription = :subscription ORDER BY next_at, pos LIMIT :count) AS due
JOIN held AS h ON h.subscription = :subscription AND h.pos = due.pos
JOIN events AS e ON e.pos = due.pos
ORDER BY h.next_at, h.pos

-- name: first_held
-- When each subscription tries something again.
SELECT subscription, min(next_at) FROM held GROUP BY subscription

-- name: count_held_some
-- How many events are held for another attempt; counting stops at a limit.
SELECT count(*) FROM (SELECT pos FROM held LIMIT :limit) AS looked_at

-- name: count_dead_some
-- How many letters are dead; counting stops at a limit.
SELECT count(*) FROM (SELECT pk FROM dead_letters WHERE state = 'dead' LIMIT :limit) AS looked_at

-- name: newest_dead
-- Why the newest letters of a subscription are dead, without their events.
SELECT pk, first_at, at, error FROM dead_letters WHERE state = 'dead' AND subscription = :subscription AND pk < :before
ORDER BY pk DESC LIMIT :count

-- name: newest_letters
-- Letters that a person or another attempt has settled, the newest first.
SELECT pk FROM dead_letters WHERE state = :state AND pk < :before AND pk >= :floor ORDER BY pk DESC LIMIT :count

-- name: floor_of_letters
-- Where a search through so many letters ends.
SELECT pk FROM dead_letters WHERE pk < :before ORDER BY pk DESC LIMIT 1 OFFSET :reach

-- name: letter_of_event
-- What became of an event that a subscription could not handle.
SELECT pk, state FROM dead_letters WHERE subscription = :subscription AND pos = :pos

-- name: held_event
-- When a subscription tries an event again.
SELECT attempt, next_at FROM held WHERE subscription = :subscription AND pos = :pos
