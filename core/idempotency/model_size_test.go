//go:build !slow

package idempotency_test

// modelRounds is how many times a hundred sequences the model goes through.
const modelRounds = 2
