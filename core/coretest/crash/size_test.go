//go:build !slow

package crash

// exhaustive says whether all cases run.
const exhaustive = false
