package parquetrows

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// childVariable says in the environment of a process that it is a child, and how many bytes of memory it may use.
const childVariable = "SV_PARQUET_CHILD"

// ProcessorSeconds is the processor time of a child.
const ProcessorSeconds = 60

// ExitMalformed is the exit code of a child that could not read the file. Its standard error says why.
const ExitMalformed = 3

// maxReason is how much is said of why a file cannot be read.
const maxReason = 1000

// Environment is that of a child that may use so many bytes of memory.
func Environment(memory int64) []string {
	return []string{childVariable + "=" + strconv.FormatInt(memory, 10), "GOMAXPROCS=1", "GOTRACEBACK=none"}
}

// RunChild does the work of a child and ends the process, if the process is one. Call it first in main: a child is the
// program itself, because that is the one executable file which is there for certain.
func RunChild(environ []string) {
	for _, variable := range environ {
		if memory, isChild := strings.CutPrefix(variable, childVariable+"="); isChild {
			os.Exit(run(memory))
		}
	}
}

func run(memory string) int {
	limit, err := strconv.ParseUint(memory, 10, 63)
	if err == nil {
		err = confine(limit)
	}
	var content []byte
	if err == nil {
		content, err = io.ReadAll(os.Stdin)
	}
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
