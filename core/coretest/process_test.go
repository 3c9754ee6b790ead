package coretest

import (
	"os"
	"testing"
	"time"
)

func TestProcesses(t *testing.T) {
	t.Parallel()

	t.Run("HaveThisOne", func(t *testing.T) {
		t.Parallel()
		all, err := Processes()
		if err != nil {
			t.Fatal(err)
		}
		if got := all[os.Getpid()]; got.Parent != os.Getppid() || got.Dead {
			t.Errorf("this process = %+v, want one that lives, with parent %d", got, os.Getppid())
		}
	})

	t.Run("MayHaveAnyName", func(t *testing.T) {
		t.Parallel()
		text := "7 (a name) (of 2) S 1 7 7 0 -1 4194560 100 200 0 0 250 50 30 20 20 0 9 0 100 0 0\n"
		pid, got, ok := parseStat([]byte(text))
		if want := (ProcessStat{Parent: 1, Used: 3500 * time.Millisecond}); pid != 7 || got != want || !ok {
			t.Errorf("process %d = %+v, %t; want 7 with %+v", pid, got, ok, want)
		}
	})
}
