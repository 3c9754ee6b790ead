// Package core holds what two apps use and no app owns: typed errors and how they are rendered, the principal of a
// request, audit records, pagination and validation. The database and its transactions are in core/db.
//
// It knows no app. Of the product it imports core/db and the bodies of the API, core/api, alone.
package core
