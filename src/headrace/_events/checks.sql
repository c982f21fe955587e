-- name: sequence_with_gap
-- Subjects whose events are not numbered without a gap.
SELECT kind, subject, min(seq), max(seq), count(*) FROM events GROUP BY kind, subject HAVING max(seq) - min(seq) + 1 <> count(*)

-- name: event_wait_without_run
-- Waits for events of a run that is not open.
SELECT run, command, topic FROM event_waits AS w WHERE NOT EXISTS (SELECT 1 FROM runs WHERE pk = w.run AND finished_at IS NULL)

-- name: held_without_event
-- Events that wait for another attempt and are not in the log.
SELECT subscription, pos FROM held AS h WHERE NOT EXISTS (SELECT 1 FROM events WHERE pos = h.pos)

-- name: dead_letter_without_event
-- Dead letters whose event is not in the log.
SELECT pk, subscription, pos FROM dead_letters AS d WHERE NOT EXISTS (SELECT 1 FROM events WHERE pos = d.pos)

-- name: subject_held_twice
-- Subjects of a subscription of which two events are tried at the same time.
SELECT subscription, kind, subject, count(*) FROM held WHERE alone = 0 GROUP BY subscription, kind, subject HAVING count(*) > 1

-- name: event_value_gone
-- Values of events that were put aside and are not there.
SELECT 'event', pos, topic FROM events WHERE substr(data, 1, 1) = x'00' AND substr(data, 2) NOT IN (SELECT hash FROM payloads)
UNION ALL
SELECT 'held', pos, subscription FROM held WHERE substr(error, 1, 1) = x'00' AND substr(error, 2) NOT IN (SELECT hash FROM payloads)
UNION ALL
SELECT 'dead letter', pk, subscription FROM dead_letters
WHERE substr(error, 1, 1) = x'00' AND substr(error, 2) NOT IN (SELECT hash FROM payloads)
