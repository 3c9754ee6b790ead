package cmd_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/config/cmd"
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	dbtest "github.com/simplevalidations/simplevalidations/core/coretest"
)

// caller tries to reach the service as soon as something is printed, and then ends it.
type caller struct {
	address string
	stop    context.CancelFunc
	printed string
	err     error
}

func (c *caller) Write(p []byte) (int, error) {
	c.printed += string(p)
	conn, err := new(net.Dialer).Dial("tcp", c.address)
	if err != nil {
		c.err = err
	} else {
		c.err = conn.Close()
	}
	c.stop()
	return len(p), nil
}

func TestServeDemo(t *testing.T) {
	t.Parallel()

	t.Run("IsReadyWhenItSaysSo", func(t *testing.T) {
		t.Parallel()
		c := fixture.SetupConsole(t)
		address := dbtest.FreeAddress(t)
		ctx, cancel := context.WithTimeout(t.Context(), fixture.Patience)
		defer cancel()
		out := &caller{address: address, stop: cancel}
		var complaint bytes.Buffer
		code := cmd.Program{
			Environ: append(c.Environ, "SV_ADDR="+address), Stdout: out, Stderr: &complaint,
		}.Run(ctx, []string{"serve", "--demo"})
		if code != 0 || !strings.Contains(out.printed, "ready") {
			t.Fatalf("exit code = %d, output %q, complaint %q, want 0 and the demonstration",
				code, out.printed, complaint.String())
		}
		if out.err != nil {
			t.Errorf("reaching the service = %v, want it to listen", out.err)
		}
	})

	t.Run("SaysNothingWhereItCannotListen", func(t *testing.T) {
		t.Parallel()
		c := fixture.SetupConsole(t)
		c.Environ = append(c.Environ, "SV_ADDR="+listen(t).Addr().String())
		if code, out, complaint := c.Run(t, "serve", "--demo"); code == 0 || out != "" {
			t.Errorf("exit code = %d, output %q, complaint %q, want a failure and no output", code, out, complaint)
		}
	})
}

// doctorPause is the time between two looks at a server that is starting.
const doctorPause = 200 * time.Millisecond

func TestServeReportsEveryPartAndLoop(t *testing.T) {
	t.Parallel()
	c := fixture.SetupConsole(t)
	c.Environ = append(c.Environ, "SV_ADDR="+dbtest.FreeAddress(t))
	ctx, stop := context.WithTimeout(t.Context(), fixture.Patience)
	defer stop()
	ended := make(chan int, 1)
	go func() {
		ended <- cmd.Program{Environ: c.Environ, Stdout: io.Discard, Stderr: io.Discard}.Run(ctx, []string{"serve"})
	}()
	told := ""
	// Each look costs as much as a start, so the loops that are waited for get the processor in between.
	look := time.NewTicker(doctorPause)
	defer look.Stop()
	for !strings.Contains(told, "1 alive, and all their loops pass") {
		select {
		case <-ctx.Done():
			t.Fatalf("doctor = %s, want every part and loop to run", told)
		case <-look.C:
			_, told, _ = c.Run(t, "doctor")
		}
	}
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("exit code of serve = %d, want 0", code)
	}
	if _, told, _ = c.Run(t, "doctor"); !strings.Contains(told, "no process has sent a heartbeat") {
		t.Errorf("doctor = %s, want a process that has stopped to be gone", told)
	}
}

func listen(tb testing.TB) net.Listener {
	tb.Helper()
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = listener.Close() }) // It may be closed already.
	return listener
}
