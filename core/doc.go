// Package core holds what two apps use and no app owns: typed errors and how they are rendered, the principal of a
// request, audit records, pagination and validation. The database and its transactions are in core/db.
//
// It knows no app and imports nothing else of the product.
package core
