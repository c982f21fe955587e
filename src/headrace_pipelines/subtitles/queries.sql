-- name: keep_body
-- A file that was downloaded.
INSERT INTO subtitles_bodies (provider, file_id, name, content, at) VALUES (:provider, :file_id, :name, :content, :at)
ON CONFLICT (provider, file_id) DO UPDATE SET name = excluded.name, content = excluded.content, at = excluded.at

-- name: body
-- A file that was downloaded before.
SELECT content, name FROM subtitles_bodies WHERE provider = :provider AND file_id = :file_id

-- name: keep_search
-- What a provider has answered.
INSERT INTO subtitles_searches (key, found, until) VALUES (:key, :found, :until)
ON CONFLICT (key) DO UPDATE SET found = excluded.found, until = excluded.until

-- name: search
-- What a provider has answered, not too long ago.
SELECT found FROM subtitles_searches WHERE key = :key AND until > :now

-- name: forget_searches
-- Answers that are too old.
DELETE FROM subtitles_searches WHERE until <= :now

-- name: keep_offers
-- What was found for a job, and why each stands where it stands.
INSERT INTO subtitles_offers (job, attempt, language, offers, at) VALUES (:job, :attempt, :language, :offers, :at)
ON CONFLICT (job, attempt, language) DO UPDATE SET offers = excluded.offers, at = excluded.at

-- name: offers_of
-- What was found for a job, newest attempt first.
SELECT attempt, language, offers FROM subtitles_offers WHERE job = :job ORDER BY attempt DESC, at

-- name: deny
-- A subtitle is not to be used.
INSERT INTO subtitles_denied (provider, file_id, reason, at) VALUES (:provider, :file_id, :reason, :at)
ON CONFLICT (provider, file_id) DO UPDATE SET reason = excluded.reason

-- name: denied
-- All subtitles that are not to be used.
SELECT provider, file_id, reason FROM subtitles_denied

-- name: keep_file
-- A file that was written.
INSERT INTO subtitles_files (path, job, video_url, language, provider, file_id, machine, score, sha256, cues, source, at)
VALUES (:path, :job, :video_url, :language, :provider, :file_id, :machine, :score, :sha256, :cues, :source, :at)
ON CONFLICT (path) DO UPDATE SET job = excluded.job, video_url = excluded.video_url, language = excluded.language, provider = excluded.provider,
    file_id = excluded.file_id, machine = excluded.machine, score = excluded.score, sha256 = excluded.sha256, cues = excluded.cues,
    source = excluded.source, at = excluded.at

-- name: file
-- A file that was written.
SELECT path, job, video_url, language, provider, file_id, machine, score, sha256, cues, source FROM subtitles_files WHERE path = :path

-- name: files_of
-- The files that were written for a job, the newest first.
SELECT path, job, video_url, language, provider, file_id, machine, score, sha256, cues, source FROM subtitles_files WHERE job = :job ORDER BY at DESC

-- name: written
-- For which videos, and in which languages, something was written.
SELECT video_url, language FROM subtitles_files

-- name: keep_chunk
-- A part of a translation, or the same with more of its lines.
INSERT INTO subtitles_chunks (key, texts, model, prompt_tokens, completion_tokens, cost, at)
VALUES (:key, :texts, :model, :prompt_tokens, :completion_tokens, :cost, :at)
ON CONFLICT (key) DO UPDATE SET texts = excluded.texts, at = excluded.at,
    prompt_tokens = subtitles_chunks.prompt_tokens + excluded.prompt_tokens,
    completion_tokens = subtitles_chunks.completion_tokens + excluded.completion_tokens, cost = subtitles_chunks.cost + excluded.cost

-- name: chunk
-- What is known of a part of a translation.
SELECT texts, model, prompt_tokens, completion_tokens, cost FROM subtitles_chunks WHERE key = :key

-- name: begin_translation
-- A translation has been planned.
INSERT INTO subtitles_translations (job, attempt, chunks, cues, began_at) VALUES (:job, :attempt, :chunks, :cues, :at)
ON CONFLICT (job, attempt) DO NOTHING

-- name: note_chunk
-- One more part of a translation is done.
INSERT INTO subtitles_translated (job, attempt, place, key, cached) VALUES (:job, :attempt, :place, :key, :cached)
ON CONFLICT (job, attempt, place) DO NOTHING

-- name: translation
-- How far a translation is: parts, parts that are done, parts that were known before, cues, and when it began.
SELECT t.chunks, count(d.place), coalesce(sum(d.cached), 0), t.cues, t.began_at
FROM subtitles_translations AS t LEFT JOIN subtitles_translated AS d ON d.job = t.job AND d.attempt = t.attempt
WHERE t.job = :job AND t.attempt = :attempt
GROUP BY t.chunks, t.cues, t.began_at

-- name: parts_of
-- The parts of a translation that are done, in order.
SELECT c.texts, c.model, c.prompt_tokens, c.completion_tokens, c.cost, d.place, d.cached
FROM subtitles_translated AS d JOIN subtitles_chunks AS c ON c.key = d.key
WHERE d.job = :job AND d.attempt = :attempt ORDER BY d.place

-- name: keep_service
-- What an outside service has told us.
INSERT INTO subtitles_services (name, state, at) VALUES (:name, :state, :at)
ON CONFLICT (name) DO UPDATE SET state = excluded.state, at = excluded.at

-- name: service
-- What an outside service told us last.
SELECT state FROM subtitles_services WHERE name = :name

-- name: media
-- The library as it was seen last.
SELECT facts FROM subtitles_media ORDER BY path

-- name: keep_media
-- A video of the library.
INSERT INTO subtitles_media (path, facts, at) VALUES (:path, :facts, :at)
ON CONFLICT (path) DO UPDATE SET facts = excluded.facts, at = excluded.at

-- name: forget_media
-- A video that is no longer there.
DELETE FROM subtitles_media WHERE path = :path

-- name: count
-- One more.
INSERT INTO subtitles_counts (name, labels, value) VALUES (:name, :labels, :value)
ON CONFLICT (name, labels) DO UPDATE SET value = subtitles_counts.value + excluded.value

-- name: counts
-- All that was counted.
SELECT name, labels, value FROM subtitles_counts ORDER BY name, labels

-- name: note_asked
-- A subtitle is asked for.
INSERT INTO subtitles_asked (job, video_url, wanted, is_open) VALUES (:job, :video_url, :wanted, 1)
ON CONFLICT (job) DO UPDATE SET video_url = excluded.video_url, wanted = excluded.wanted, is_open = 1

-- name: mark_asked
-- The job has ended, or begins again.
UPDATE subtitles_asked SET is_open = :is_open WHERE job = :job

-- name: asked
-- All subtitles that somebody works for.
SELECT video_url, wanted FROM subtitles_asked WHERE is_open = 1

-- name: shelf
-- The library as it was seen last, and when that changed for each video.
SELECT facts, at FROM subtitles_media ORDER BY path

-- name: made
-- What was written, beside which video, and by whom.
SELECT video_url, language, machine, at FROM subtitles_files

-- name: asked_for
-- The jobs that were ever asked for of a video.
SELECT job, wanted, is_open FROM subtitles_asked WHERE video_url = :video_url ORDER BY wanted

-- name: media_named
-- Videos of the library whose path ends so.
SELECT facts FROM subtitles_media WHERE substr(path, length(path) - length(:ending) + 1) = :ending ORDER BY path
