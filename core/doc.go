// Package core holds what two apps use and no app owns: typed errors and how they are rendered, the
// database and its transactions, the principal of a request, audit records, pagination and validation.
//
// It knows no app and imports nothing of the product.
package core
