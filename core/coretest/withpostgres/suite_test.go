package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// events are what two packages say that run at once, one of which fails.
const events = `{"Action":"start","Package":"example/good"}
{"Action":"start","Package":"example/bad"}
{"Action":"run","Package":"example/bad","Test":"TestA"}
{"Action":"output","Package":"example/bad","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"example/good","Test":"TestLoud","Output":"    a_test.go:1: said by who passed\n"}
{"Action":"pass","Package":"example/good","Test":"TestLoud","Elapsed":0.1}
{"Action":"output","Package":"example/good","Output":"PASS\n"}
{"Action":"output","Package":"example/good","Output":"ok  \texample/good\t1.500s\n"}
{"Action":"pass","Package":"example/good","Elapsed":1.5}
{"Action":"output","Package":"example/bad","Test":"TestB","Output":"    b_test.go:1: said by who passed\n"}
{"Action":"pass","Package":"example/bad","Test":"TestB","Elapsed":0}
{"Action":"output","Package":"example/bad","Test":"TestA/Sub","Output":"        a_test.go:9: got 1, want 2\n"}
{"Action":"output","Package":"example/bad","Test":"TestA","Output":"--- FAIL: TestA (0.10s)\n"}
{"Action":"output","Package":"example/bad","Test":"TestA/Sub","Output":"    --- FAIL: TestA/Sub (0.10s)\n"}
{"Action":"fail","Package":"example/bad","Test":"TestA/Sub","Elapsed":0.1}
{"Action":"fail","Package":"example/bad","Test":"TestA","Elapsed":0.1}
{"Action":"output","Package":"example/bad","Test":"TestHung","Output":"panic: test timed out after 1m0s\n"}
{"Action":"output","Package":"example/bad","Output":"FAIL\texample/bad\t60.000s\n"}
{"Action":"fail","Package":"example/bad","Elapsed":60}
{"ImportPath":"example/broken","Action":"build-output","Output":"# example/broken\n"}
{"ImportPath":"example/broken","Action":"build-output","Output":"broken.go:3: undefined: x\n"}
{"ImportPath":"example/broken","Action":"build-fail"}
{"Action":"start","Package":"example/broken"}
{"Action":"output","Package":"example/broken","Output":"FAIL\texample/broken [build failed]\n"}
{"Action":"fail","Package":"example/broken","Elapsed":0,"FailedBuild":"example/broken"}
{"Action":"start","Package":"example/none"}
{"Action":"output","Package":"example/none","Output":"?   \texample/none\t[no test files]\n"}
{"Action":"skip","Package":"example/none","Elapsed":0}
FAIL
`

const want = `ok  	example/good	1.500s	[1 of 4 packages, 2s]
        a_test.go:9: got 1, want 2
--- FAIL: TestA (0.10s)
    --- FAIL: TestA/Sub (0.10s)
panic: test timed out after 1m0s
FAIL	example/bad	60.000s	[2 of 4 packages, 2s]
# example/broken
broken.go:3: undefined: x
FAIL	example/broken [build failed]	[3 of 4 packages, 2s]
?   	example/none	[no test files]	[4 of 4 packages, 2s]
FAIL

The slowest of 4 packages, after 2s:
    60.0 s  example/bad
     1.5 s  example/good
     0.0 s  example/broken
     0.0 s  example/none
`

func TestReport(t *testing.T) {
	t.Parallel()

	t.Run("ShowsFailuresAndALinePerPackage", func(t *testing.T) {
		t.Parallel()
		if diff := cmp.Diff(want, printed(t, false)); diff != "" {
			t.Errorf("report (-want +got):\n%s", diff)
		}
	})
}

func printed(tb testing.TB, live bool) string {
	tb.Helper()
	var out strings.Builder
	r := newReport(&out, 4, live)
	moment := time.Date(2026, 1, 1, 0, 0, 2, 0, time.UTC)
	r.now = func() time.Time { return moment }
	r.begun = moment.Add(-2 * time.Second)
	if err := r.read(strings.NewReader(events)); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}
