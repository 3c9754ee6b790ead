// Package patroni tries the service on three PostgreSQL servers under Patroni, as config/deploy/patroni sets them up:
// each in a network of its own, which makes a machine of it that can be lost or cut off.
package patroni
