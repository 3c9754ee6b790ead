//go:build !slow

package guides

// hasNode has the programs for node run as well, which only slow tests have.
const hasNode = false
