package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	dbtest "github.com/simplevalidations/simplevalidations/core/coretest"
)

// TestSchemaCanBeShardedByOrganization demands that rows of one organization can live apart from those of others: what
// is unique is unique within an organization, and what refers to a row names its organization first.
func TestSchemaCanBeShardedByOrganization(t *testing.T) {
	t.Parallel()
	db := dbtest.OpenDatabase(t)

	t.Run("WhatIsUniqueBeginsWithTheOrganization", func(t *testing.T) {
		t.Parallel()
		rows, err := db.Pool.Query(t.Context(), `
			SELECT i.relname FROM pg_index AS x
			JOIN pg_class AS i ON i.oid = x.indexrelid
			JOIN pg_attribute AS a ON a.attrelid = x.indrelid AND a.attnum = x.indkey[0]
			WHERE x.indisunique AND i.relnamespace = 'public'::regnamespace AND a.attname <> 'org_id'
			ORDER BY 1`)
		if err != nil {
			t.Fatal(err)
		}
		got, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(acrossOrganizations(), got); diff != "" {
			t.Errorf("unique indexes that do not begin with org_id (-want +got):\n%s", diff)
		}
	})

	t.Run("WhatRefersToRowsOfAnOrganizationNamesIt", func(t *testing.T) {
		t.Parallel()
		rows, err := db.Pool.Query(t.Context(), `
			SELECT c.conname FROM pg_constraint AS c
			JOIN pg_attribute AS a ON a.attrelid = c.confrelid AND a.attnum = c.confkey[1]
			WHERE c.contype = 'f' AND a.attname <> 'org_id'
				AND c.confrelid NOT IN ('organizations'::regclass, 'users'::regclass, 'service_processes'::regclass)`)
		if err != nil {
			t.Fatal(err)
		}
		got, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil || len(got) > 0 {
			t.Errorf("foreign keys that do not begin with org_id = %v, %v, want none", got, err)
		}
	})
}

// acrossOrganizations are the unique indexes that do not begin with org_id: those of the installation, of users, and of
// digests by which a request finds its organization.
func acrossOrganizations() []string {
	return []string{
		"goose_db_version_pkey", "identities_pkey", "job_ticks_pkey", "mails_pkey", "moved_tokens_pkey",
		"object_stores_pkey", "organizations_pkey", "password_links_pkey", "second_factors_pkey", "service_loops_pkey",
		"service_processes_pkey", "sessions_pkey", "sign_in_steps_pkey", "staged_jobs_pkey", "uq_api_tokens_digest",
		"uq_external_calls_receipt",
		"uq_invitations_digest", "uq_organizations_slug", "uq_password_links_digest", "uq_users_email", "users_pkey",
	}
}
