// Package embedded runs the two servers the product needs when none is configured: a private PostgreSQL made of the
// server binaries installed on the machine, and a Redis inside the process.
//
// It knows folders, users, processes and locks. It knows nothing of schemas, settings or the environment, and it is
// no way to run several replicas: PostgreSQL listens on a unix socket alone, and the Redis forgets all it holds when
// the process ends. It works on Linux and macOS; elsewhere a database has to be configured.
package embedded
