package parquetrows

import (
	"fmt"
	"io"
	"os"
)

// Name is what a child is called by.
const Name = "simplevalidations-parquet"

// ExitMalformed is the exit code of a child that could not read the file. Its standard error says why.
const ExitMalformed = 3

// maxReason is how much is said of why a file cannot be read.
const maxReason = 1000

// RunChild does the work of a child and ends the process, if the process is called as one. Call it first in main: a
// child is the program itself, because that is the one executable file which is there for certain.
func RunChild(args []string) {
	if len(args) > 0 && args[0] == Name {
		os.Exit(run())
	}
}

func run() int {
	content, err := io.ReadAll(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := Write(os.Stdout, content); err != nil {
		// A hostile file may quote itself at length.
		fmt.Fprintf(os.Stderr, "%.*s\n", maxReason, err.Error())
		return ExitMalformed
	}
	return 0
}
