// Package web serves runs and findings: the API, the dashboard's pages, the event streams, and the callbacks of
// external validators.
//
// urls.go is the table of all routes. A page is a file page_*.go with its handler and its view model; runs.go,
// findings.go and callbacks.go are the API. run_stream.go streams the events of a run to API clients, and
// page_events.go tells open pages to reload. The views call services and hold no transactions.
package web
