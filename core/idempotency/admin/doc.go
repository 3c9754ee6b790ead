// Package admin shows people what their idempotency keys were used for, and lets administrators free stuck keys.
//
// It is the app beside the engine in core/idempotency: urls.go lists its routes, api.go has the API views, and each
// page_*.go has a page with its view model. Inspector reads keys for these views, for the commands and for the pages of
// other apps. Activity records what the engine's Guard reports, and writes it to tables of its own.
//
// The engine never reads these tables, so what they hold may lag or be lost without a consequence for any request.
package admin
