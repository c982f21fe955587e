-- name: outcome_fits_state
-- I3: a result belongs to completed runs, an error to failed ones, and to nobody else.
SELECT id, number, state FROM runs
WHERE (result IS NOT NULL AND state <> 'completed') OR (error IS NOT NULL AND state <> 'failed')

-- name: one_open_run_per_id
-- I3: only the newest run of an id may be open.
SELECT old.id, old.number FROM runs AS old
WHERE old.finished_at IS NULL AND EXISTS (SELECT 1 FROM runs AS new WHERE new.id = old.id AND new.number > old.number)

-- name: numbers_without_gaps
-- I1: the runs of an id are numbered from 1.
SELECT id, max(number), count(*) FROM runs GROUP BY id HAVING max(number) <> count(*)

-- name: continued_run_exists
-- I1: a run that continued as another one led to one.
SELECT old.id, old.number, old.continued_as FROM runs AS old
WHERE old.continued_as IS NOT NULL
  AND (old.state <> 'replaced' OR NOT EXISTS (SELECT 1 FROM runs AS new WHERE new.id = old.id AND new.number = old.continued_as))

-- name: parent_exists
-- I8: a child's parent is known.
SELECT child.id, child.parent FROM runs AS child
WHERE child.parent IS NOT NULL AND NOT EXISTS (SELECT 1 FROM runs AS parent WHERE parent.pk = child.parent)

-- name: nothing_is_due_after_the_end
-- I3: an ended run is never woken.
SELECT id, number, next_at FROM runs WHERE finished_at IS NOT NULL AND next_at IS NOT NULL

-- name: moments_in_order
-- I9: a run was created, then started, then it ended.
SELECT id, number, created_at, started_at, finished_at FROM runs
WHERE (state <> 'queued' AND started_at IS NULL) OR (finished_at IS NOT NULL AND since_at <> finished_at)

-- name: waiting_has_a_reason
-- I9: what does not go on says why.
SELECT id, number, state FROM runs WHERE finished_at IS NULL AND state IN ('waiting', 'blocked', 'quarantined') AND reason = ''

-- name: known_state
-- I9: no run is in a state that nobody knows.
SELECT id, number, state FROM runs
WHERE state NOT IN ('queued', 'running', 'waiting', 'blocked', 'quarantined', 'cancelling', 'completed', 'failed', 'cancelled', 'timed_out', 'replaced')

-- name: progress_belongs_to_a_run
-- I8: no progress of a run that does not exist.
SELECT run, command FROM progress WHERE run NOT IN (SELECT pk FROM runs)

-- name: nobody_waits_after_its_end
-- I8: only open runs wait.
SELECT run, waiter, command FROM awaited WHERE waiter IN (SELECT pk FROM runs WHERE finished_at IS NOT NULL)

-- name: incidents_belong_to_a_run
-- I8: no incidents of a run that does not exist.
SELECT pk, run, name FROM incidents WHERE run IS NOT NULL AND run NOT IN (SELECT pk FROM runs)

-- name: one_mark_per_command
-- I2: a command is begun once.
SELECT run, command, count(*) FROM journal WHERE command >= 0 AND outcome = 'mark' GROUP BY run, command HAVING count(*) > 1

-- name: mark_before_completion
-- I4: what has begun ends, not the other way round.
SELECT mark.run, mark.command FROM journal AS mark JOIN journal AS answer ON answer.run = mark.run AND answer.command = mark.command
WHERE mark.outcome = 'mark' AND answer.outcome <> 'mark' AND answer.seq < mark.seq

-- name: one_kind_per_command
-- I4: a command keeps its kind and name.
SELECT run, command FROM journal WHERE command >= 0 GROUP BY run, command HAVING count(DISTINCT kind || '/' || name) > 1

-- name: asked_to_stop_once
-- I3: a run is cancelled once, and has one deadline.
SELECT run, kind, count(*) FROM journal WHERE command = -1 AND kind IN ('cancel', 'deadline') GROUP BY run, kind HAVING count(*) > 1

-- name: time_goes_forward
-- I4: in a run no row is earlier than the one before it.
SELECT run, seq, at FROM (SELECT run, seq, at, lag(at) OVER (PARTITION BY run ORDER BY seq) AS before FROM journal) AS steps
WHERE at < before

-- name: attempts_are_counted
-- I5: failed attempts have numbers without gaps, and precede the one that was recorded.
SELECT run, command, max(attempt), count(*) FROM attempts GROUP BY run, command HAVING max(attempt) <> count(*)
UNION ALL
SELECT failed.run, failed.command, failed.attempt, answer.attempt FROM attempts AS failed
JOIN journal AS answer ON answer.run = failed.run AND answer.command = failed.command AND answer.outcome IN ('ok', 'error')
WHERE failed.name = answer.name AND failed.attempt >= answer.attempt
