# frozen_string_literal: true

# Starts a validation run exactly once, in atomic phases: the key is stored in the first one; the run, its submission,
# its job, the organization's usage and the answer follow together in the second one. Both are SERIALIZABLE.

require "digest"
require "json"
require "securerandom"
require "sequel"
require "sinatra/base"

# The server's address is in the variables of libpq.
DB = Sequel.connect(adapter: "postgres", database: ENV.fetch("PGDATABASE"), max_connections: 4)
DB.extension :pg_json

class Token < Sequel::Model; end
class Workflow < Sequel::Model; end
class UsageCounter < Sequel::Model; end
class Submission < Sequel::Model; end
class ValidationRun < Sequel::Model; end
class StagedJob < Sequel::Model; end

class IdempotencyKey < Sequel::Model
  unrestrict_primary_key
end

class API < Sinatra::Base
  ENDPOINT = "workflow_start"
  KEY_LIFETIME = 24 * 3600
  # An older lock belongs to a request that has died.
  LOCK_LIFETIME = 90
  RETRIES = 10
  STARTED = "started"
  FINISHED = "finished"
  UUID = /\h{8}-\h{4}-\h{4}-\h{4}-\h{12}/

  # Protection is for browsers.
  disable :protection, :static, :show_exceptions
  set :default_content_type, "application/json"

  get "/livez/" do
    "{}"
  end

  post %r{/api/workflows/(#{UUID})/start/} do |workflow_id|
    token = authenticate
    workflow = Workflow.first(id: workflow_id, org_id: token.org_id) || refuse(404, "not_found")
    content = request.body.read
    key = claim_key(token.org_id, content)
    if key.recovery_point == FINISHED
      headers "Idempotent-Replayed" => "true"
    else
      finish(key) { start_run(key, workflow, content) }
    end
    headers key.response_headers.to_h
    status key.response_status
    JSON.generate(key.response_body)
  end

  private

  def authenticate
    keyword, secret = request.env["HTTP_AUTHORIZATION"].to_s.split(" ", 2)
    refuse(401, "authentication_failed") unless keyword&.casecmp?("bearer") && secret
    token = Token.first(digest: Sequel.blob(Digest::SHA256.digest(secret))) || refuse(401, "authentication_failed")
    refuse(403, "permission_denied") unless token.role == "executor"
    token
  end

  # Returns the key, which is finished or belongs to this request alone.
  def claim_key(org_id, content)
    name = request.env["HTTP_IDEMPOTENCY_KEY"].to_s
    refuse(400, "idempotency_key_invalid") unless name.length.between?(1, 255)
    digest = fingerprint(content)
    atomic_phase do
      key = IdempotencyKey.first(org_id: org_id, key: name, endpoint: ENDPOINT)
      next create_key(org_id, name, digest) unless key

      refuse(422, "idempotency_key_reused") if key.request_hash != digest
      next key if key.recovery_point == FINISHED

      refuse(409, "idempotency_key_in_progress") if key.locked_at && key.locked_at > Time.now - LOCK_LIFETIME
      key.update(locked_at: Time.now)
    end
  end

  def create_key(org_id, name, digest)
    now = Time.now
    IdempotencyKey.create(
      id: SecureRandom.uuid, org_id: org_id, key: name, endpoint: ENDPOINT, request_method: request.request_method,
      request_path: request.path_info, request_hash: digest, request_ip: request.ip,
      user_agent: request.user_agent.to_s, recovery_point: STARTED, locked_at: now, created_at: now,
      expires_at: now + KEY_LIFETIME
    )
  end

  def fingerprint(content)
    parts = [request.request_method, request.fullpath, request.content_type, content]
    Digest::SHA256.hexdigest(parts.join("\0"))
  end

  # Runs the phase that finishes the key. When it cannot, the next request may try it.
  def finish(key, &phase)
    finished = false
    atomic_phase(key, &phase)
    finished = true
  ensure
    IdempotencyKey.where(id: key.id).update(locked_at: nil) unless finished
  end

  # Does all that a start is, and finishes the key with the answer.
  def start_run(key, workflow, content)
    org_id = workflow.org_id
    counter = UsageCounter.where(org_id: org_id).where { (quota =~ nil) | (used < quota) }
    refuse(429, "quota_exceeded") if counter.update(used: Sequel[:used] + 1).zero?
    submission_id = Submission.insert(
      org_id: org_id, media_type: request.media_type, filename: request.env["HTTP_X_FILENAME"].to_s,
      size: content.bytesize, sha256: Digest::SHA256.hexdigest(content), content: Sequel.blob(content)
    )
    run_id = SecureRandom.uuid
    ValidationRun.insert(
      id: run_id, org_id: org_id, workflow_id: workflow.id, workflow_version: workflow.version,
      submission_id: submission_id, idempotency_key_id: key.id, source: "API", state: "PENDING", created_at: Time.now
    )
    StagedJob.insert(name: "execute_run", args: Sequel.pg_jsonb(run_id: run_id))
    url = "/api/runs/#{run_id}/"
    # The body's keys stand as JSONB sorts them, so that a replay has the bytes of the first answer.
    key.update(
      recovery_point: FINISHED, locked_at: nil, validation_run_id: run_id, response_status: 201,
      response_headers: Sequel.pg_jsonb("Location" => url),
      response_body: Sequel.pg_jsonb("id" => run_id, "url" => url, "state" => "PENDING", "workflow" => workflow.slug)
    )
  end

  # PostgreSQL aborts one of two transactions that would disturb each other, which then begins anew.
  def atomic_phase(key = nil, &phase)
    DB.transaction(
      isolation: :serializable, retry_on: [Sequel::SerializationFailure, Sequel::UniqueConstraintViolation],
      num_retries: RETRIES, before_retry: ->(*) { key&.refresh }, &phase
    )
  end

  def refuse(status, code)
    halt status, JSON.generate(code: code)
  end
end
