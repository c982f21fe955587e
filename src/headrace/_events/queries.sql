-- name: insert_event
-- Append an event, unless its id is in the log already.
INSERT INTO events (id, topic, kind, subject, slot, seq, source, time, at, version, cause, generation, applied, reason, data)
VALUES (:id, :topic, :kind, :subject, :slot, (SELECT coalesce(max(seq), 0) + 1 FROM events WHERE kind = :kind AND subject = :subject),
        :source, :time, :at, :version, :cause, :generation, :applied, :reason, :data)
ON CONFLICT (id) DO NOTHING
RETURNING pos, seq

-- name: insert_event
-- dialect: postgres
-- Append an event, unless its id is in the log already; with the commit, other processes hear that the log has grown.
INSERT INTO events (id, topic, kind, subject, slot, seq, source, time, at, version, cause, generation, applied, reason, data)
VALUES (:id, :topic, :kind, :subject, :slot, (SELECT coalesce(max(seq), 0) + 1 FROM events WHERE kind = :kind AND subject = :subject),
        :source, :time, :at, :version, :cause, :generation, :applied, :reason, :data)
ON CONFLICT (id) DO NOTHING
RETURNING pos, seq, pg_notify('headrace', current_schema() || ' log')

-- name: event_by_id
-- One event.
SELECT pos, id, topic, kind, subject, seq, source, time, at, version, cause, generation, applied, reason, data FROM events WHERE id = :id

-- name: event_at
-- The event at a position.
SELECT pos, id, topic, kind, subject, seq, source, time, at, version, cause, generation, applied, reason, data FROM events WHERE pos = :pos

-- name: last_position
-- Where the log ends.
SELECT coalesce(max(pos), 0) FROM events

-- name: position_at
-- The last position before a moment.
SELECT coalesce(max(pos), 0) FROM events WHERE at < :at

-- name: scan
-- What a reader needs to know before it looks at an event, in the order of the log.
SELECT pos, topic, kind, subject, slot FROM events WHERE pos > :after ORDER BY pos LIMIT :count

-- name: events_after
-- Events in the order of the log.
SELECT pos, id, topic, kind, subject, seq, source, time, at, version, cause, generation, applied, reason, data FROM events
WHERE pos > :after AND pos <= :until ORDER BY pos LIMIT :count

-- name: events_before
-- Events, the newest first.
SELECT pos, id, topic, kind, subject, seq, source, time, at, version, cause, generation, applied, reason, data FROM events
WHERE pos < :before ORDER BY pos DESC LIMIT :count

-- name: events_of_topic
-- Events of one topic, the newest first.
SELECT pos, id, topic, kind, subject, seq, source, time, at, version, cause, generation, applied, reason, data FROM events
WHERE topic = :topic AND pos < :before ORDER BY pos DESC LIMIT :count

-- name: history_after
-- The events of one subject in order.
SELECT pos, id, topic, kind, subject, seq, source, time, at, version, cause, generation, applied, reason, data FROM events
WHERE kind = :kind AND subject = :subject AND seq > :after ORDER BY seq LIMIT :count

-- name: history_before
-- The events of one subject, the newest first.
SELECT pos, id, topic, kind, subject, seq, source, time, at, version, cause, generation, applied, reason, data FROM events
WHERE kind = :kind AND subject = :subject AND seq < :before ORDER BY seq DESC LIMIT :count

-- name: kinds_of_subject
-- Which lifecycles have a job of this id, by hopping from kind to kind; the empty one is a subject that is no job.
WITH RECURSIVE kinds (kind) AS (
    SELECT min(kind) FROM events
    UNION ALL
    SELECT (SELECT min(kind) FROM events WHERE kind > kinds.kind) FROM kinds WHERE kinds.kind IS NOT NULL
)
SELECT kind FROM kinds WHERE EXISTS (SELECT 1 FROM events WHERE events.kind = kinds.kind AND subject = :subject)

-- name: count_history
-- How many events a subject has.
SELECT count(*) FROM events WHERE kind = :kind AND subject = :subject

-- name: subject_after
-- What the log has of one subject behind a position.
SELECT pos, topic FROM events WHERE kind = :kind AND subject = :subject AND pos > :after AND pos <= :until ORDER BY seq LIMIT :count

-- name: topic_after
-- What the log has of one topic behind a position.
SELECT pos, topic, kind, subject FROM events WHERE topic = :topic AND pos > :after ORDER BY pos LIMIT 1

-- name: topics
-- Which topics the log has, how many events of each, and the newest of each.
SELECT topic, count(*), max(pos) FROM events GROUP BY topic ORDER BY topic

-- name: cursors_of
-- How far the parts of a subscription are.
SELECT subscription, part, pos, paused, fence, stop_at FROM cursors WHERE subscription = :subscription ORDER BY part

-- name: all_cursors
-- How far all subscriptions are.
SELECT subscription, part, pos, paused, fence, stop_at FROM cursors ORDER BY subscription, part

-- name: make_cursor
-- A subscription begins to read.
INSERT INTO cursors (subscription, part, pos, at) VALUES (:subscription, :part, :pos, :at) ON CONFLICT (subscription, part) DO NOTHING

-- name: make_replay
-- A subscription gets a range of the log once more.
INSERT INTO cursors (subscription, part, pos, at, stop_at, paused) VALUES (:subscription, :part, :pos, :at, :stop_at, :paused)

-- name: drop_parts
-- A subscription has fewer parts than before.
DELETE FROM cursors WHERE subscription = :subscription AND part >= :parts

-- name: end_replay
-- A part of a replay has come to its end.
DELETE FROM cursors WHERE subscription = :subscription AND part = :part AND stop_at IS NOT NULL

-- name: move_cursor
-- Everything up to here is handled, held or dead; refused to whoever lost the part to another process.
UPDATE cursors SET pos = :pos, at = :at WHERE subscription = :subscription AND part = :part AND fence = :fence AND pos < :pos

-- name: lock_cursor
-- Who may move this cursor, and how far it is.
SELECT fence, pos FROM cursors WHERE subscription = :subscription AND part = :part

-- name: lock_cursor
-- dialect: postgres
-- Who may move this cursor until the transaction ends, and how far it is: nobody can take the part away in the middle of it.
SELECT fence, pos FROM cursors WHERE subscription = :subscription AND part = :part FOR UPDATE

-- name: set_cursor
-- A person says where a subscription goes on.
UPDATE cursors SET pos = :pos, at = :at, fence = fence + 1 WHERE subscription = :subscription

-- name: pause_subscription
-- A person stops a subscription and its replays, or lets them go on.
UPDATE cursors SET paused = :paused WHERE subscription = :subscription OR substr(subscription, 1, length(:replays)) = :replays

-- name: shared_parts
-- All parts of all subscriptions, and who has which.
SELECT subscription, part, holder, until, fence, paused FROM cursors ORDER BY subscription, part

-- name: drop_cursors
-- A subscription is there no more, nor are its replays.
DELETE FROM cursors WHERE subscription = :subscription OR substr(subscription, 1, length(:replays)) = :replays

-- name: drop_held
-- What it would have tried again.
DELETE FROM held WHERE subscription = :subscription OR substr(subscription, 1, length(:replays)) = :replays

-- name: dismiss_letters
-- Nobody will try its dead letters again.
UPDATE dead_letters SET state = 'dismissed', at = :at WHERE subscription = :subscription AND state IN ('dead', 'redriven')

-- name: claim_part
-- Take a part that nobody holds, or whose holder has not been heard of for too long; the fence shuts out whoever had it.
UPDATE cursors SET holder = :holder, until = :until, fence = fence + 1
WHERE subscription = :subscription AND part = :part AND (holder IS NULL OR holder = :holder OR until < :at)
RETURNING pos, fence, paused, stop_at

-- name: keep_part
-- The holder of a part is alive.
UPDATE cursors SET until = :until WHERE subscription = :subscription AND part = :part AND fence = :fence

-- name: leave_part
-- The holder of a part goes.
UPDATE cursors SET holder = NULL, until = NULL WHERE subscription = :subscription AND part = :part AND fence = :fence

-- name: free_parts_of_owners
-- A new owner knows that the one before is gone: nobody has to wait until its parts fall due.
UPDATE cursors SET holder = NULL, until = NULL WHERE substr(holder, 1, 6) = 'owner/'

-- name: enter_worker
-- A process works for subscriptions from now on.
INSERT INTO workers (name, host, pid, subscriptions, began_at, until) VALUES (:name, :host, :pid, :subscriptions, :at, :until)
ON CONFLICT (name) DO UPDATE SET until = excluded.until

-- name: keep_worker
-- It is alive.
UPDATE workers SET until = :until, subscriptions = :subscriptions WHERE name = :name

-- name: live_workers
-- Who works for which subscriptions.
SELECT name, subscriptions, host, pid, began_at, until FROM workers WHERE until >= :at ORDER BY name

-- name: leave_all_parts
-- A process goes: others may take its parts at once.
UPDATE cursors SET holder = NULL, until = NULL WHERE holder = :holder

-- name: leave_worker
-- It goes.
DELETE FROM workers WHERE name = :name

-- name: forget_workers
-- Owners that are gone, and processes that have not been heard of for long.
DELETE FROM workers WHERE until < :before OR substr(name, 1, 6) = :kind

-- name: call_owner
-- The owner has to look at a run.
INSERT INTO calls (run) VALUES (:run)

-- name: calls
-- Which runs the owner has to look at.
SELECT pk, run FROM calls ORDER BY pk LIMIT :count

-- name: answer_call
-- The owner has looked.
DELETE FROM calls WHERE pk = :pk

-- name: hold
-- A subject waits for the next attempt at one of its events, and its later events wait behind it.
INSERT INTO held (subscription, kind, subject, pos, attempt, next_at, error, alone, begun_at)
VALUES (:subscription, :kind, :subject, :pos, :attempt, :next_at, :error, :alone, :begun_at)
ON CONFLICT (subscription, pos) DO UPDATE SET attempt = excluded.attempt, next_at = excluded.next_at, error = excluded.error, begun_at = excluded.begun_at

-- name: held_of
-- The subjects of a subscription that wait.
SELECT kind, subject, pos, attempt, next_at, error, alone, begun_at FROM held WHERE subscription = :subscription ORDER BY pos

-- name: release
-- An event is no longer held.
DELETE FROM held WHERE subscription = :subscription AND pos = :pos

-- name: is_held
-- Whether events of a subject wait behind one that is tried again.
SELECT 1 FROM held WHERE subscription = :subscription AND kind = :kind AND subject = :subject AND alone = 0 LIMIT 1

-- name: count_held
-- How many subjects of each subscription wait.
SELECT subscription, count(*) FROM held GROUP BY subscription

-- name: bury
-- An event that could not be handled, with the cause.
INSERT INTO dead_letters (subscription, pos, attempts, error, first_at, at, state) VALUES (:subscription, :pos, :attempts, :error, :at, :at, 'dead')
ON CONFLICT (subscription, pos) DO UPDATE SET attempts = dead_letters.attempts + excluded.attempts, error = excluded.error, at = excluded.at, state = 'dead'
RETURNING pk

-- name: settle_letter
-- A dead letter was handled after all.
UPDATE dead_letters SET state = 'handled', at = :at WHERE subscription = :subscription AND pos = :pos

-- name: redrive_letter
-- A person wants a dead letter to be tried again.
UPDATE dead_letters SET state = 'redriven', redriven_at = :at WHERE pk = :pk AND state = 'dead' RETURNING subscription, pos

-- name: dismiss_letter
-- A person wants no more of a dead letter.
UPDATE dead_letters SET state = 'dismissed', at = :at WHERE pk = :pk AND state = 'dead' RETURNING subscription, pos

-- name: dead_letters
-- What could not be handled, the newest first.
SELECT d.pk, d.subscription, d.attempts, d.error, d.first_at, d.at, d.state, d.redriven_at,
       e.pos, e.id, e.topic, e.kind, e.subject, e.seq, e.source, e.time, e.at, e.version, e.cause, e.generation, e.applied, e.reason, e.data
FROM dead_letters AS d JOIN events AS e ON e.pos = d.pos
WHERE d.pk < :before AND (CAST(:subscription AS TEXT) IS NULL OR d.subscription = :subscription) AND (CAST(:state AS TEXT) IS NULL OR d.state = :state)
ORDER BY d.pk DESC LIMIT :count

-- name: dead_letter
-- One of them.
SELECT d.pk, d.subscription, d.attempts, d.error, d.first_at, d.at, d.state, d.redriven_at,
       e.pos, e.id, e.topic, e.kind, e.subject, e.seq, e.source, e.time, e.at, e.version, e.cause, e.generation, e.applied, e.reason, e.data
FROM dead_letters AS d JOIN events AS e ON e.pos = d.pos WHERE d.pk = :pk

-- name: count_dead
-- How many dead letters each subscription has.
SELECT subscription, count(*) FROM dead_letters WHERE state = 'dead' GROUP BY subscription
