-- name: endpoint_without_subscription
-- Endpoints to which nothing would ever be sent.
SELECT name FROM endpoints AS e WHERE NOT EXISTS (SELECT 1 FROM cursors WHERE subscription = 'webhook:' || e.name)

-- name: endpoint_goes_on_though_disabled
-- Endpoints that are disabled and whose subscription is not paused.
SELECT e.name FROM endpoints AS e JOIN cursors AS c ON c.subscription = 'webhook:' || e.name WHERE e.disabled_at IS NOT NULL AND c.paused = 0
