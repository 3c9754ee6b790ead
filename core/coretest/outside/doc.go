// Package outside has the services that an installation calls, as the product expects them from others: the operator's
// billing service, an external validator and a receiver of webhooks. They are for tests, and to try overage billing and
// http steps with; cmd serves those.
//
// They keep everything in memory, and what goes wrong in real ones can be scripted.
package outside
