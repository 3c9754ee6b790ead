package archive

import (
	"context"
	"io"
	"slices"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// TenantTables are the tables that the deletion of an organization empties in batches.
func TenantTables() []string {
	return db.Column(tenantTables(), func(t *tenantTable) string { return t.name })
}

// AllTenantTables are all tables that the deletion of an organization empties, by name.
func AllTenantTables() []string {
	return slices.Sorted(slices.Values(append(TenantTables(), smallTenantTables()...)))
}

// ExportPart exports what a move copies while the organization only reads.
func ExportPart(ctx context.Context, from Place, orgID uuid.UUID, to io.Writer) error {
	_, err := export(ctx, from, orgID, to, false, &part{})
	return err
}

// ImportPart imports that.
func ImportPart(ctx context.Context, to Place, from io.Reader) error {
	return importPart(ctx, to, from, &part{inserted: func(int) {}})
}
