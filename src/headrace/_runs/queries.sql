-- name: insert_run
-- Begin a run, unless another process has just begun one of this number.
INSERT INTO runs (id, number, flow, state, since_at, next_at, input, seed, parent, deadline_at, created_at, started_at, begun_at_pos,
                  job_kind, job_id, job_generation, job_owner)
VALUES (:id, :number, :flow, :state, :at, :next_at, :input, :seed, :parent, :deadline_at, :at, :started_at,
        coalesce(:begun_at_pos, (SELECT max(pos) FROM events), 0), :job_kind, :job_id, :job_generation, :job_owner)
ON CONFLICT (id, number) DO NOTHING
RETURNING pk, begun_at_pos

-- name: latest_run
-- The newest run of an id, in short.
SELECT pk, number, state, job_kind, job_id, job_generation FROM runs WHERE id = :id ORDER BY number DESC LIMIT 1

-- name: run_by_pk
-- One run.
SELECT pk, id, number, flow, state, reason, location, since_at, next_at, input, result, error, seed, parent, deadline_at, cancel_at,
       created_at, started_at, finished_at, continued_as, begun_at_pos, job_kind, job_id, job_generation, job_owner
FROM runs WHERE pk = :pk

-- name: open_run
-- Whether a run is open, and stays so until the transaction ends.
SELECT pk FROM runs WHERE pk = :pk AND finished_at IS NULL

-- name: open_run
-- dialect: postgres
-- Whether a run is open, and stays so until the transaction ends.
SELECT pk FROM runs WHERE pk = :pk AND finished_at IS NULL FOR UPDATE

-- name: run_by_id
-- The newest run of an id.
SELECT pk, id, number, flow, state, reason, location, since_at, next_at, input, result, error, seed, parent, deadline_at, cancel_at,
       created_at, started_at, finished_at, continued_as, begun_at_pos, job_kind, job_id, job_generation, job_owner
FROM runs WHERE id = :id ORDER BY number DESC LIMIT 1

-- name: run_by_number
-- A certain run of an id.
SELECT pk, id, number, flow, state, reason, location, since_at, next_at, input, result, error, seed, parent, deadline_at, cancel_at,
       created_at, started_at, finished_at, continued_as, begun_at_pos, job_kind, job_id, job_generation, job_owner
FROM runs WHERE id = :id AND number = :number

-- name: identity_of
-- What a run is called.
SELECT id, number, flow, state FROM runs WHERE pk = :pk

-- name: list_runs
-- Runs for people, the newest first; before is the cursor.
SELECT pk, id, number, flow, state, reason, location, since_at, next_at, x'' AS input, NULL AS result, NULL AS error, seed, parent, deadline_at, cancel_at,
       created_at, started_at, finished_at, continued_as, begun_at_pos, job_kind, job_id, job_generation, job_owner
FROM runs
WHERE pk < :before
  AND (CAST(:flow AS TEXT) IS NULL OR flow = :flow)
  AND (CAST(:state AS TEXT) IS NULL OR state = :state)
  AND (CAST(:search AS TEXT) IS NULL OR instr(id, :search) > 0)
ORDER BY pk DESC LIMIT :count

-- name: list_open_runs
-- The same, for open runs only.
SELECT pk, id, number, flow, state, reason, location, since_at, next_at, x'' AS input, NULL AS result, NULL AS error, seed, parent, deadline_at, cancel_at,
       created_at, started_at, finished_at, continued_as, begun_at_pos, job_kind, job_id, job_generation, job_owner
FROM runs
WHERE finished_at IS NULL AND pk < :before
  AND (CAST(:flow AS TEXT) IS NULL OR flow = :flow)
  AND (CAST(:search AS TEXT) IS NULL OR instr(id, :search) > 0)
ORDER BY pk DESC LIMIT :count

-- name: children_of
-- The runs that a run created.
SELECT id, number, flow, state FROM runs WHERE parent = :pk ORDER BY pk

-- name: count_by_state
-- How many runs are in each state.
SELECT state, count(*) FROM runs GROUP BY state ORDER BY state

-- name: count_open_by_state
-- How many open runs are in each state.
SELECT state, count(*) FROM runs WHERE finished_at IS NULL GROUP BY state ORDER BY state

-- name: count_waiting_for_time
-- How many runs have something that falls due by itself.
SELECT count(*) FROM runs WHERE next_at IS NOT NULL

-- name: set_state
-- An open run is now in this state; it says since when, why, until when and where. One that was asked to stop stays so, and is found at a restart.
-- What came for it while this was on its way, a message after the one seen last, an event or the end of a run, is due at once: who told of it is gone after a crash.
UPDATE runs SET state = CASE WHEN cancel_at IS NOT NULL AND :state = 'waiting' THEN 'cancelling' ELSE :state END,
                reason = :reason, location = :location, since_at = :at,
                next_at = CASE WHEN :state = 'waiting' AND (
                    EXISTS (SELECT 1 FROM inbox WHERE inbox.run = runs.pk AND inbox.pk > :seen)
                    OR EXISTS (SELECT 1 FROM event_waits WHERE event_waits.run = runs.pk AND event_waits.came = 1)
                    OR EXISTS (SELECT 1 FROM awaited JOIN runs AS child ON child.pk = awaited.run WHERE awaited.waiter = runs.pk AND child.finished_at IS NOT NULL)
                ) THEN CAST(:at AS BIGINT) ELSE :next_at END
WHERE pk = :pk AND finished_at IS NULL

-- name: set_going
-- A run that waited goes on; from here on it is found at a restart without waiting for its due time.
UPDATE runs SET state = CASE state WHEN 'cancelling' THEN state ELSE 'running' END, reason = '', next_at = NULL, since_at = :at,
                started_at = coalesce(started_at, :at)
WHERE pk = :pk AND finished_at IS NULL

-- name: poke_run
-- Something came for this run: whoever looks for due runs finds it.
UPDATE runs SET next_at = :at WHERE pk = :pk AND finished_at IS NULL AND (next_at IS NULL OR next_at > :at)

-- name: ask_to_cancel
-- Remember that cancelling was asked for.
UPDATE runs SET cancel_at = coalesce(cancel_at, :at), next_at = CASE WHEN next_at < :at THEN next_at ELSE :at END,
                state = CASE WHEN state IN ('blocked', 'quarantined') THEN state ELSE 'cancelling' END
WHERE pk = :pk AND finished_at IS NULL

-- name: end_run
-- A run has ended.
UPDATE runs SET state = :state, reason = :reason, location = '', since_at = :at, next_at = NULL, result = :result, error = :error, finished_at = :at,
                started_at = coalesce(started_at, :at), continued_as = :continued_as
WHERE pk = :pk AND finished_at IS NULL
RETURNING job_kind, job_id, job_generation, job_owner

-- name: append_journal
-- Record what entered a run.
INSERT INTO journal (run, seq, command, kind, name, arguments, outcome, value, attempt, started_at, at)
VALUES (:run, :seq, :command, :kind, :name, :arguments, :outcome, :value, :attempt, :started_at, :at)

-- name: journal_of
-- All that entered a run, in order.
SELECT seq, command, kind, name, arguments, outcome, value, attempt, started_at, at FROM journal WHERE run = :run ORDER BY seq

-- name: insert_attempt
-- An attempt of a step failed.
INSERT INTO attempts (run, command, attempt, name, error, started_at, at, next_at)
VALUES (:run, :command, :attempt, :name, :error, :started_at, :at, :next_at)
ON CONFLICT (run, command, attempt) DO UPDATE SET name = excluded.name, error = excluded.error, started_at = excluded.started_at, at = excluded.at,
    next_at = excluded.next_at

-- name: attempts_of
-- The failed attempts of all steps of a run.
SELECT command, attempt, name, error, started_at, at, next_at FROM attempts WHERE run = :run ORDER BY command, attempt

-- name: unfinished_attempts
-- Failed attempts of steps that have no outcome yet.
SELECT command, attempt, name, error, started_at, at, next_at FROM attempts AS a
WHERE run = :run AND NOT EXISTS (SELECT 1 FROM journal AS j WHERE j.run = a.run AND j.command = a.command AND j.outcome <> 'mark')
ORDER BY command, attempt

-- name: forget_attempts
-- Start counting again for the steps of a run that a person released.
DELETE FROM attempts WHERE run = :run AND command NOT IN (SELECT command FROM journal WHERE run = :run)

-- name: save_progress
-- The last word of a step under way.
INSERT INTO progress (run, command, value, at) VALUES (:run, :command, :value, :at)
ON CONFLICT (run, command) DO UPDATE SET value = excluded.value, at = excluded.at

-- name: progress_of
-- What the steps of a run said last.
SELECT command, value, at FROM progress WHERE run = :run

-- name: await_run
-- Somebody waits for the end of a run, unless it has been ended itself meanwhile.
INSERT INTO awaited (run, waiter, command) SELECT :run, pk, :command FROM runs WHERE pk = :waiter AND finished_at IS NULL
ON CONFLICT DO NOTHING

-- name: waiters_of
-- Who waits for the end of a run.
SELECT waiter, command FROM awaited WHERE run = :run

-- name: awaited_by
-- Which runs a run waits for, and how they are.
SELECT a.command, r.id, r.state, r.result, r.error
FROM awaited AS a JOIN runs AS r ON r.pk = a.run WHERE a.waiter = :waiter

-- name: stop_waiting
-- A wait is over.
DELETE FROM awaited WHERE waiter = :waiter AND command = :command

-- name: forget_waits
-- A run has ended and waits for nobody.
DELETE FROM awaited WHERE waiter = :waiter

-- name: move_waiters
-- Who waited for a run waits for the one that goes on in its place.
UPDATE awaited SET run = :new WHERE run = :old

-- name: add_wait
-- A run waits for an event.
INSERT INTO event_waits (run, command, topic, is_pattern, kind, subject, after)
VALUES (:run, :command, :topic, :is_pattern, :kind, :subject, :after)
ON CONFLICT (run, command) DO NOTHING

-- name: waits_for
-- Which runs may wait for an event of this topic.
SELECT run, command, topic, kind, subject, after FROM event_waits WHERE is_pattern = 0 AND topic = :topic
UNION ALL
SELECT run, command, topic, kind, subject, after FROM event_waits WHERE is_pattern = 1

-- name: event_came
-- The event that a run waits for is in the log.
UPDATE event_waits SET came = 1 WHERE run = :run AND command = :command

-- name: waits_met
-- The waits of a run whose event is in the log, though the run may not have heard of it.
SELECT command, topic, kind, subject, after FROM event_waits WHERE run = :run AND came = 1 ORDER BY command

-- name: stop_wait
-- A wait for an event is over.
DELETE FROM event_waits WHERE run = :run AND command = :command

-- name: forget_event_waits
-- A run has ended and waits for no event any more.
DELETE FROM event_waits WHERE run = :run

-- name: open_runs_of_job
-- The runs that work for a job and tell it their end.
SELECT pk, id FROM runs WHERE job_kind = :kind AND job_id = :id AND job_owner = 1 AND finished_at IS NULL

-- name: works_for_job
-- Whether an open run works for this generation of a job.
SELECT 1 FROM runs
WHERE job_kind = :kind AND job_id = :id AND job_generation = :generation AND job_owner = 1 AND finished_at IS NULL
LIMIT 1

-- name: hand_over
-- A run has ended and left its job to others.
UPDATE runs SET job_owner = 0 WHERE id = :id AND number = :number

-- name: put_message
-- A message for a run, stored before anyone waits.
INSERT INTO inbox (run, topic, value, at) VALUES (:run, :topic, :value, :at)
RETURNING pk

-- name: messages_of
-- The messages that a run has not taken yet, oldest first.
SELECT pk, topic, value, at FROM inbox WHERE run = :run ORDER BY pk

-- name: take_message
-- A message was received; its content is in the journal now.
DELETE FROM inbox WHERE pk = :pk

-- name: forget_messages
-- Nobody will receive these any more.
DELETE FROM inbox WHERE run = :run

-- name: unseen_messages
-- Messages that were taken for a run and have not reached it any more.
SELECT name, value, at FROM journal
WHERE run = :run AND seq > :after AND kind = 'receive' AND outcome = 'ok' AND attempt > 0 ORDER BY seq

-- name: move_cancel
-- Who asked a run to stop that has not heard it means the one that goes on in its place.
UPDATE runs SET state = 'cancelling', cancel_at = (SELECT old.cancel_at FROM runs AS old WHERE old.pk = :old)
WHERE pk = :new AND EXISTS (SELECT 1 FROM runs AS old WHERE old.pk = :old AND old.cancel_at IS NOT NULL)

-- name: move_messages
-- Unread messages go to the run that continues.
UPDATE inbox SET run = :new WHERE run = :old

-- name: due_runs
-- Runs for which something is due until then, the earliest first.
SELECT pk, next_at FROM runs
WHERE next_at IS NOT NULL AND (next_at, pk) > (:after_at, :after_pk) AND next_at <= :until
ORDER BY next_at, pk LIMIT :count

-- name: runs_in_state
-- Open runs in one state, oldest first.
SELECT pk FROM runs WHERE finished_at IS NULL AND state = :state AND pk > :after ORDER BY pk LIMIT :count

-- name: add_incident
-- Something that an operator would want to know later.
INSERT INTO incidents (at, run, name, detail) VALUES (:at, :run, :name, :detail)

-- name: incidents_of
-- What happened around a run.
SELECT at, name, detail FROM incidents WHERE run = :run ORDER BY pk

-- name: attempts_between
-- The failed attempts of some commands of a run.
SELECT command, attempt, name, error, started_at, at, next_at FROM attempts
WHERE run = :run AND command >= :first AND command <= :last ORDER BY command, attempt

-- name: recent_incidents
-- What happened lately.
SELECT at, run, name, detail FROM incidents ORDER BY pk DESC LIMIT :count
