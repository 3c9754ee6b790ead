package archive

import (
	"slices"

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
