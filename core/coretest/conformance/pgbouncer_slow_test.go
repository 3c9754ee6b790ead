//go:build slow

package conformance

import (
	"os"
	"os/exec"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// TestThroughPgBouncer runs the other tests again with a PgBouncer between the servers and the database. The thousand
// races of TestCrowdWithOneKey are left out, since the contract has some of each kind.
func TestThroughPgBouncer(t *testing.T) {
	t.Parallel()
	if os.Getenv(program.PoolerVariable) != "" {
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.parallel=4",
		"-test.skip=^Test(ThroughPgBouncer|CrowdWithOneKey)$")
	cmd.Env = append(os.Environ(), program.PoolerVariable+"=pgbouncer")
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the tests through PgBouncer: %v\n%s", err, output)
	}
}
