// Package web serves runs and findings: the API, the dashboard's pages, the event streams, and the callbacks of
// external validators.
//
// urls.go is the table of all routes. A page is a file page_*.go with its handler and its view model; runs.go,
// findings.go and callbacks.go are the API. Package live streams events, and package viewer shows documents. The views
// call services and hold no transactions.
package web
