package crash

import (
	"errors"
	"syscall"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/postgres"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// TestFullDiskIsNotReady has the disk of PostgreSQL full, and then not any more. The probe of the readiness must notice
// both, although look-ups are answered all the time.
//
//nolint:paralleltest // The disk is that of all databases of its server.
func TestFullDiskIsNotReady(t *testing.T) {
	disk := newFailingDisk(t)
	database := coretest.Connect(t, disk.server.URL())
	if err := database.CheckWritable(t.Context()); err != nil {
		t.Fatalf("check = %v on a sound disk, want nil", err)
	}
	full := postgres.Fault{Call: "pwrite", Reason: syscall.ENOSPC, Folder: postgres.Temporary}
	if err := disk.Break(postgres.Any, full); err != nil {
		t.Fatal(err)
	}
	if err := database.CheckWritable(t.Context()); !errors.Is(err, db.ErrFull) {
		t.Errorf("check = %v on a full disk, want %v", err, db.ErrFull)
	}
	disk.Mend(t)
	if err := database.CheckWritable(t.Context()); err != nil {
		t.Errorf("check = %v after space was freed, want nil", err)
	}
}
