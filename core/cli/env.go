package cli

import (
	"os"

	"golang.org/x/term"
)

// Env is what commands know of their process.
type Env struct {
	// Version is that of the program.
	Version string
	// Getenv looks a variable of the environment up; it is "" where the variable is not set.
	Getenv func(name string) string
}

// IsTerminal reports whether a person sees what is written to the stream.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
