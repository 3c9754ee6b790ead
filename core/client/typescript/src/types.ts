/**
 * The bodies of the REST API, with the names of their members as they are sent. Times are ISO 8601 texts in UTC with
 * milliseconds; what is absent is null. More members and more values may come; ignore those that are not known.
 */

/** A time like `2026-03-01T09:15:04.128Z`. These texts sort by time, and `new Date(text)` reads one. */
export type Time = string;

/** How far a run is. `COMPLETED` is final. */
export type RunState = "PENDING" | "RUNNING" | "COMPLETED";

/** What a run has found. `FAIL` is about the document; `ERROR` is about the service. */
export type RunResult = "UNKNOWN" | "PASS" | "FAIL" | "ERROR" | "CANCELED" | "TIMED_OUT";

/** State and result of a run in one word. */
export type RunStatus = "PENDING" | "RUNNING" | "SUCCEEDED" | "FAILED" | "CANCELED" | "TIMED_OUT";

/** Why a run did not pass; empty where it did, or has not ended. */
export type ErrorCategory = "" | "VALIDATION_FAILED" | "TIMEOUT" | "RUNTIME_ERROR" | "SYSTEM_ERROR";

/** Where a run was started. */
export type Source = "API" | "DASHBOARD" | "CLI";

/** How far a step is. */
export type StepStatus = "PENDING" | "RUNNING" | "PASSED" | "FAILED" | "SKIPPED";

/** How grave a finding is. Only errors fail a run. */
export type Severity = "ERROR" | "WARNING" | "INFO";

/** What a member may do; each role may do what the ones before it may. */
export type Role = "viewer" | "executor" | "author" | "admin" | "owner";

/** One execution of one version of a workflow on one document. */
export interface Run {
  id: string;
  workflow: string;
  workflow_slug: string;
  workflow_version: number;
  submission: string;
  org: string;
  source: Source;
  state: RunState;
  result: RunResult;
  status: RunStatus;
  error: string;
  error_category: ErrorCategory;
  user_friendly_error: string;
  /** Null where the run was started without a key. */
  idempotency_key: string | null;
  rerun_of: string | null;
  created_at: Time;
  started_at: Time | null;
  ended_at: Time | null;
  duration_ms: number;
  attempts: number;
  content_purged_at: Time | null;
  findings_purged_at: Time | null;
  counts: Counts;
  /** The steps in their order. Empty in lists and events. */
  steps: Step[];
}

/** How much was found, with what is not listed one by one. */
export interface Counts {
  errors: number;
  warnings: number;
  infos: number;
}

/** One step of a run. */
export interface Step {
  step_id: string;
  name: string;
  status: StepStatus;
  error: string;
  counts: Counts;
  /** The first findings; {@link Client.findings} has all of them. */
  issues: Issue[];
  issues_truncated: boolean;
}

/** One finding, as it is listed in a step. */
export interface Issue {
  id: string;
  severity: Severity;
  code: string;
  message: string;
  path: string;
  /** From 1; 0 where it is not known, as with `column` and `row`. */
  line: number;
  column: number;
  row: number;
  excerpt: string;
  count: number;
  sample_rows: number[];
  /** Null for findings that no rule made. */
  assertion_id: string | null;
  truncated: boolean;
}

/** One finding of a run. */
export interface Finding extends Issue {
  step_id: string;
}

/** A workflow as of one of its versions. */
export interface Workflow {
  id: string;
  slug: string;
  name: string;
  description: string;
  version: number;
  org_slug: string;
  is_active: boolean;
  accepts: string[];
  steps: WorkflowStep[];
  constants: string[];
  created_at: Time;
  updated_at: Time;
  /** Only after a save: what the definition probably does not mean. */
  warnings?: FieldError[];
}

/** One check of a workflow. */
export interface WorkflowStep {
  id: string;
  name: string;
  validator_type: "energyplus" | "http" | "ids" | "json_schema" | "rules" | "schematron" | "table" | "xml";
  order: number;
}

/** What an import has come to. */
export interface WorkflowImport {
  outcome: "created" | "version_added" | "renamed" | "unchanged";
  workflow: Workflow;
}

/** Who a token stands for. */
export interface Me {
  id: string;
  email: string;
  name: string;
  org: Organization;
  role: Role;
  /** The id of the token that was used. */
  token: string;
}

/** An organization. */
export interface Organization {
  id: string;
  slug: string;
  name: string;
}

/** An API token, without its secret. */
export interface Token {
  id: string;
  label: string;
  prefix: string;
  /** The most that the token may do. */
  role: Role;
  user: string;
  email: string;
  state: "active" | "expired" | "revoked";
  replaced_by: string | null;
  created_at: Time;
  expires_at: Time | null;
  revoked_at: Time | null;
  last_used_at: Time | null;
}

/** A new token with its secret, which is never shown again. */
export interface TokenSecret extends Token {
  secret: string;
}

/** A token that is to be made. */
export interface TokenDraft {
  label: string;
  role: Role;
  /** How long it works; 0, or nothing, is for ever. */
  valid_for_ms?: number;
}

/** Says how a token is rotated. */
export interface TokenRotation {
  /** How long the old token works on; a day unless it is set. */
  overlap_ms?: number;
}

/** A user as a member of the organization. */
export interface Member {
  id: string;
  email: string;
  name: string;
  role: Role;
  created_at: Time;
}

/** invited: it can be accepted; expired: a new link opens it again. */
export type InvitationState = "invited" | "expired" | "accepted";

/** Asks a person to become a member of an organization. */
export interface Invitation {
  id: string;
  org: Organization;
  email: string;
  /** What the organization calls the person, who chooses a name upon acceptance. */
  name: string;
  role: Role;
  state: InvitationState;
  created_at: Time;
  expires_at: Time;
}

/** An invitation with its new link, which is never shown again. */
export interface InvitationLink extends Invitation {
  /** The path of the page on which the person accepts. */
  link: string;
}

/** A person to be invited. */
export interface MemberDraft {
  email: string;
  /** What the organization calls the person until the invitation is accepted. */
  name?: string;
  role: Role;
}

/** What of a member may change. */
export interface MemberChange {
  role: Role;
}

/** One thing that was done in the organization. */
export interface AuditRecord {
  id: string;
  created_at: Time;
  /** Null where the operator or the service has done it. */
  actor: string | null;
  actor_email: string;
  token: string | null;
  action: string;
  target_type: string;
  target_id: string;
  request_id: string | null;
  detail: string;
}

/** What the organization has used in the current month. */
export interface Usage {
  metric: "runs";
  used: number;
  /** Null where there is no limit, as with `remaining`. */
  quota: number | null;
  remaining: number | null;
  /** Runs beyond the quota, which are not in `used`. */
  overage: number;
  period: string;
  resets_at: Time;
  /** Not null where `days` and `workflows` are about the newest runs only. */
  counted_since: Time | null;
  days: DayUsage[];
  workflows: WorkflowUsage[];
}

/** The runs of one day, which is written like 2026-03-01. */
export interface DayUsage {
  day: string;
  runs: number;
}

/** The runs of one workflow. */
export interface WorkflowUsage {
  workflow: string;
  slug: string;
  runs: number;
}

/** What a process of the service depends on. */
export interface Readiness {
  status: "ok" | "unavailable" | "stopping";
  /** The release of the process. */
  version: string;
  database: "ok" | "unreachable" | "read-only" | "full" | "migrations pending";
  redis: "ok" | "degraded";
}

/** One line of a document. */
export interface DocumentLine {
  number: number;
  /** Only the first characters where the line is `cut`. */
  text: string;
  /** How many characters the whole line has. */
  length: number;
  cut: boolean;
}

/** A part of a run's document, with the findings on its lines. */
export interface DocumentWindow {
  filename: string;
  media_type: string;
  size: number;
  sha256: string;
  /** The last two have no lines. */
  kind: "text" | "table" | "binary" | "too_large";
  line_count: number;
  next: string | null;
  previous: string | null;
  lines: DocumentLine[];
  /** At most 200. */
  findings: Finding[];
  /** The path of the whole document. */
  content: string;
}

/** How many findings are new, gone and the same. */
export interface ComparisonCounts {
  new: number;
  gone: number;
  same: number;
}

/** What has changed since the previous run on the same file. */
export interface Comparison {
  /** Null where there is nothing to compare with. */
  previous: string | null;
  counts: ComparisonCounts;
  /** At most 200. */
  new: Finding[];
  /** At most 200. */
  gone: Finding[];
  /** Whether all findings of both runs are kept one by one, so that they could be compared. */
  complete: boolean;
}

/** One request in the log of the organization. */
export interface LoggedRequest {
  id: string;
  at: Time;
  method: string;
  path: string;
  /** The operation that the key belongs to. */
  endpoint: string | null;
  status: number;
  /** Null where the request was not refused. */
  code: string | null;
  key: string | null;
  /** Null for a form of the dashboard. */
  token: string | null;
  address: string | null;
  request_id: string;
  /** Whether the answer is that of the request `original_request_id`. */
  replayed: boolean;
  original_request_id: string | null;
  run: string | null;
  duration_ms: number;
}

/** One header of a request. A value that may be a secret was not kept: it is `hidden`. */
export interface LoggedHeader {
  name: string;
  value: string;
  hidden: boolean;
}

/** One request in the log with everything that is kept of it. */
export interface LoggedRequestDetail extends LoggedRequest {
  headers: LoggedHeader[];
  body_size: number;
  /** Null where the body is large or was not read to its end. */
  body_sha256: string | null;
  problem: Problem | null;
}

/** The organization with its settings. A period is null where that of the service applies, and 0 for ever. */
export interface OrganizationSettings extends Organization {
  created_at: Time;
  /** Whether its members can only read. */
  suspended: boolean;
  key_required: boolean;
  key_lifetime_ms: number | null;
  content_retention_ms: number | null;
  findings_retention_ms: number | null;
  /** Null where there is no limit. */
  run_quota: number | null;
  overage: boolean;
  max_tokens: number;
}

/** What of the settings to change. What is left out stays as it is; a period of null becomes that of the service. */
export interface OrganizationChange {
  name?: string;
  key_required?: boolean;
  key_lifetime_ms?: number | null;
  content_retention_ms?: number | null;
  findings_retention_ms?: number | null;
}

/** The body of a refusal. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: ErrorCode;
  request_id: string;
  retryable: boolean;
  /** The id that the run has if it was started (`outcome_unknown`). */
  run_id?: string;
  /** What differs from the first use of the key (`idempotency_key_reused`). */
  differs?: ("workflow" | "run" | "content" | "options")[];
  /** The `Request-Id` of the first use of the key (`idempotency_key_reused`). */
  original_request_id?: string;
  errors?: FieldError[];
}

/** One place of a request that is at fault. */
export interface FieldError {
  pointer?: string;
  parameter?: string;
  line?: number;
  column?: number;
  code: string;
  detail: string;
}

/** The codes of refusals that this client knows. Each has its page in the documentation of the service. */
export type KnownErrorCode =
  | "invalid_payload"
  | "invalid_parameter"
  | "idempotency_key_too_long"
  | "idempotency_key_invalid"
  | "idempotency_key_required"
  | "idempotency_key_in_progress"
  | "idempotency_key_reused"
  | "idempotency_key_not_releasable"
  | "not_authenticated"
  | "payment_required"
  | "permission_denied"
  | "organization_suspended"
  | "not_found"
  | "method_not_allowed"
  | "payload_too_large"
  | "unsupported_media_type"
  | "workflow_inactive"
  | "workflow_has_no_steps"
  | "document_gone"
  | "run_completed"
  | "run_reserved"
  | "last_owner"
  | "token_not_rotatable"
  | "too_many_tokens"
  | "request_timeout"
  | "request_header_too_large"
  | "signature_invalid"
  | "internal_error"
  | "quota_exceeded"
  | "rate_limited"
  | "unavailable"
  | "outcome_unknown";

/** The code of a refusal. A newer service may have codes that this client does not know. */
export type ErrorCode = KnownErrorCode | (string & {});
