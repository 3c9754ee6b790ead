package archive

// organizations is the table with the organization itself. Its row comes before all others.
const organizations = "organizations"

// uploadChunks is the table with the chunks of documents. In an archive it also has those of the object store, which
// are rows of uploadObjects here.
const (
	uploadChunks  = "upload_chunks"
	uploadObjects = "upload_objects"
)

// table is a table whose rows belong to organizations.
type table struct {
	name string
	// key are the columns that identify a row within the organization. A row that is there already is left as it is.
	key string
	// order are the columns in whose order rows refer to earlier ones.
	order string
	// where is SQL over r that selects what is exported; empty for everything.
	where string
	// members are columns with ids of users that have to exist, and users those that need not.
	members, users []string
	// open keeps the transaction open for the next table, because the two refer to each other.
	open bool
	// document is the column that names the document of a row. Such rows stay as they are until they are purged.
	document string
	// check refuses a row of an import.
	check func(row []byte) error
}

// tables are all tables that an archive holds, those that others refer to first. A new table with rows of organizations
// belongs here or to leftOut.
func tables() []table {
	return []table{
		{name: "memberships", key: "user_id", order: "user_id", members: []string{"user_id"}},
		// A token that was rotated refers to a later one.
		{name: "api_tokens", key: "id", order: "id DESC", members: []string{"user_id"}},
		{name: "invitations", key: "id", order: "id", users: []string{"invited_by", "accepted_by"}},
		{name: "usage_counters", key: "metric, period_start", order: "metric, period_start"},
		{name: "definitions", key: "digest", order: "digest"},
		{name: "workflows", key: "id", order: "id", open: true},
		{name: "workflow_versions", key: "workflow_id, number", order: "workflow_id, number"},
		{name: "workflow_drafts", key: "workflow_id", order: "workflow_id", users: []string{"updated_by"}},
		// An upload that no submission has is swept.
		{name: "uploads", key: "id", order: "id", document: "id", where: "r.sweep_after IS NULL"},
		{
			name: uploadChunks, key: "upload_id, first_byte", order: "upload_id, first_byte", document: "upload_id",
			where: `EXISTS (SELECT FROM uploads AS u
				WHERE u.org_id = r.org_id AND u.id = r.upload_id AND u.sweep_after IS NULL)`,
		},
		{name: "submissions", key: "id", order: "id", document: "id", check: checkSubmission},
		// A rerun refers to an earlier run.
		{name: "validation_runs", key: "id", order: "id", users: []string{"created_by"}, check: checkRun},
		{name: "step_runs", key: "run_id, ordinal", order: "run_id, ordinal"},
		{name: "findings", key: "run_id, step_ordinal, ordinal", order: "run_id, step_ordinal, ordinal"},
		{name: "external_calls", key: "id", order: "id"},
		{name: "idempotency_keys", key: "key, endpoint", order: "key, endpoint", check: checkKey},
		{name: "key_events", key: "key_id, id", order: "key_id, id"},
		{name: "key_activity", key: "key_id", order: "key_id"},
		{name: "key_activity_days", key: "day", order: "day"},
		{name: "refusal_days", key: "day, code", order: "day, code"},
		{name: "start_hours", key: "hour", order: "hour"},
		// Webhooks are not in the archive, so nothing of an import is sent.
		{name: "events", key: "id", order: "id", where: "r.position IS NOT NULL"},
		{name: "audit_records", key: "id", order: "id", users: []string{"actor_id"}},
	}
}

// leftOut are the other tables with rows of organizations, and why an archive does not hold them.
func leftOut() map[string]string {
	return map[string]string{
		uploadObjects:        "their bytes are in the rows of upload_chunks",
		"staged_jobs":        "nothing is left to do when an organization moves",
		"signing_keys":       "they are encrypted with the key of the installation; validators get new secrets",
		"webhooks":           "their secrets are encrypted with the key of the installation",
		"webhook_deliveries": "they belong to webhooks",
		"webhook_attempts":   "they belong to webhooks",
		"request_log":        "what was asked of an installation stays in it until it expires",
		"signing_secrets":    "they are those of an earlier release",
	}
}
