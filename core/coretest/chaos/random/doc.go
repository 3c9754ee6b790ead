// Package random tries the program under faults drawn at random: processes of it on a PostgreSQL with a standby and on
// a Redis, behind a PgBouncer and networks that fail, and clients of all manners. Everything that the clients saw and
// that the database stored is kept, and is then checked against what must be true. `make chaos` runs it.
//
// A seed draws the faults and what each client does, but not how the processes interleave: a failure repeats with its
// seed often, not always. A run in which too little happened is rejected rather than passed.
//
// Where the clock of PostgreSQL moves on, its times are translated, and a run that is under way meanwhile may have run
// out of time; nothing else is checked less. Where it goes back, two things are: times of clients and of PostgreSQL
// may differ by as much as it went back, and what triggers find by comparing times shortly after that does not count.
package random
