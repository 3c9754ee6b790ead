//go:build !slow

package api

const (
	// isolationRequests is how many requests are looked at for traces of others.
	isolationRequests = 1_500
	// allStatistics says that plans are made with each kind of statistics, and not with the two most different alone.
	allStatistics = false
)
