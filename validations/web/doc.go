// Package web serves runs and findings: the API, the dashboard's pages, the event streams, and the callbacks of
// external validators.
//
// urls.go is the table of all routes. A page is a file page_*.go with its handler and its view model; runs.go and
// findings.go are the API, and signing.go has what is signed. Package progress streams events, and package viewer shows
// documents. The views call services and hold no transactions.
package web
