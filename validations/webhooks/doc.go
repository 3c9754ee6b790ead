// Package webhooks lists the events of an organization and sends them to its webhooks.
//
// Triggers write an event in the transaction that makes it true (migrations/00110_events.sql). The Publisher gives it
// its position in the organization's list and a delivery for each webhook that wants it. The Deliverer takes the lease
// of a webhook and sends what is due, each event at least once and always with the same id. PostgreSQL knows what is
// due: a job in the queue only says that there is something, and may be lost.
package webhooks
