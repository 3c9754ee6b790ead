package config_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	dbtest "github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/docs"
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
		if diff := cmp.Diff(slices.Sorted(maps.Keys(acrossOrganizations())), got); diff != "" {
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

	t.Run("TheGuideListsTheExceptions", func(t *testing.T) {
		t.Parallel()
		page, ok := docs.Page("guides/scaling")
		if !ok {
			t.Fatal("there is no page on scaling")
		}
		for index, table := range acrossOrganizations() {
			if table != "" && !strings.Contains(string(page), "`"+table+"`") {
				t.Errorf("the page does not name %s, whose index %s is an exception", table, index)
			}
		}
	})
}

// acrossOrganizations are the unique indexes that do not begin with org_id, with their tables where the guide has to
// name them. The one that has none belongs to the migrations.
func acrossOrganizations() map[string]string {
	return map[string]string{
		"goose_db_version_pkey":     "",
		"organizations_pkey":        "organizations",
		"uq_organizations_slug":     "organizations",
		"users_pkey":                "users",
		"uq_users_email":            "users",
		"uq_api_tokens_digest":      "api_tokens",
		"sessions_pkey":             "sessions",
		"password_links_pkey":       "password_links",
		"uq_password_links_digest":  "password_links",
		"second_factors_pkey":       "second_factors",
		"identities_pkey":           "identities",
		"sign_in_steps_pkey":        "sign_in_steps",
		"mails_pkey":                "mails",
		"uq_invitations_digest":     "invitations",
		"uq_external_calls_receipt": "external_calls",
		"staged_jobs_pkey":          "staged_jobs",
		"job_ticks_pkey":            "job_ticks",
		"service_processes_pkey":    "service_processes",
		"service_loops_pkey":        "service_loops",
	}
}
