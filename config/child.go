package config

import "github.com/simplevalidations/simplevalidations/validations/engines/table/parquetrows"

// RunChild does the work of a child process and ends the program, if this process is one. Call it before anything else.
func RunChild(args []string) { parquetrows.RunChild(args) }
