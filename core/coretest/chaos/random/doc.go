// Package random tries the program under faults drawn at random: processes of it on a PostgreSQL and a Redis of their
// own, behind networks that fail, and clients of all manners. Everything that the clients saw and that the database
// stored is kept, and is then checked against what must be true. `make chaos` runs it.
//
// A seed draws the faults and what each client does, but not how the processes interleave: a failure repeats with its
// seed often, not always. A run in which too little happened is rejected rather than passed.
package random
