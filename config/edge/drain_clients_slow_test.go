//go:build slow

package edge_test

import (
	"testing"
)

// TestRefusalsArriveInNode has node's clients see why they are refused, and no broken connection besides.
func TestRefusalsArriveInNode(t *testing.T) {
	t.Parallel()
	sendRefused(t, setup(t).refusedPlan(), "node", "refused.mjs")
}
