// Package requestlog keeps an organization's requests that may change something, so that people can see what became of
// them: starts above all, and also those that were refused.
//
// Log collects the requests of a process in memory and writes them in batches, so a request costs no statement. It has
// room for a stated number of them each second; what comes beyond that is dropped and counted, and refusals are counted
// by the day in any case. Reader reads them. App shows them over the API and on the dashboard.
package requestlog
