-- The filters of the request log by organization, filter and id. With the filter in front, a page with few requests
-- passed over those of all other organizations: over each refusal of the whole service, for one. The expressions leave
-- the planner no other index (docs/adr/0013-plans-without-statistics.md).
--
-- The filters of the previous release read the whole log until it is gone.

-- +goose NO TRANSACTION
-- +goose Up
-- Building waits for all transactions that are older, and holds up nobody meanwhile.
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS ix_request_log_of_key;
CREATE INDEX CONCURRENTLY ix_request_log_of_key
    ON request_log ((CASE WHEN key <> '' THEN org_id END), key, id) WHERE key <> '';
DROP INDEX CONCURRENTLY IF EXISTS ix_request_log_of_run;
CREATE INDEX CONCURRENTLY ix_request_log_of_run
    ON request_log ((CASE WHEN run_id IS NOT NULL THEN org_id END), run_id, id) WHERE run_id IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS ix_request_log_of_token;
CREATE INDEX CONCURRENTLY ix_request_log_of_token
    ON request_log ((CASE WHEN token_id IS NOT NULL THEN org_id END), token_id, id) WHERE token_id IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS ix_request_log_of_code;
CREATE INDEX CONCURRENTLY ix_request_log_of_code
    ON request_log ((CASE WHEN code <> '' THEN org_id END), code, id) WHERE code <> '';
DROP INDEX CONCURRENTLY IF EXISTS ix_request_log_of_status;
CREATE INDEX CONCURRENTLY ix_request_log_of_status
    ON request_log ((CASE WHEN status >= 400 THEN org_id END), (status / 100), id) WHERE status >= 400;
DROP INDEX CONCURRENTLY IF EXISTS ix_request_log_key;
DROP INDEX CONCURRENTLY IF EXISTS ix_request_log_run;
DROP INDEX CONCURRENTLY IF EXISTS ix_request_log_token;
DROP INDEX CONCURRENTLY IF EXISTS ix_request_log_code;
DROP INDEX CONCURRENTLY IF EXISTS ix_request_log_refused;

-- +goose Down
CREATE INDEX CONCURRENTLY ix_request_log_key ON request_log (key, org_id, id) WHERE key <> '';
CREATE INDEX CONCURRENTLY ix_request_log_run ON request_log (run_id, org_id, id) WHERE run_id IS NOT NULL;
CREATE INDEX CONCURRENTLY ix_request_log_token ON request_log (token_id, org_id, id) WHERE token_id IS NOT NULL;
CREATE INDEX CONCURRENTLY ix_request_log_code ON request_log (code, org_id, id) WHERE code <> '';
CREATE INDEX CONCURRENTLY ix_request_log_refused ON request_log ((status / 100), org_id, id) WHERE status >= 400;
DROP INDEX ix_request_log_of_key, ix_request_log_of_run, ix_request_log_of_token, ix_request_log_of_code,
    ix_request_log_of_status;
