// Package pgproxy stands between a client and PostgreSQL and lets tests decide what happens at each commit: whether it
// reaches the server, whether its answer or an error of the server reaches the client, and what is done to the client
// just before and just after.
//
// It understands as much of the protocol as it takes to find commits, and passes everything else on as it is. It is for
// plain connections: what asks for TLS is told that there is none.
package pgproxy
