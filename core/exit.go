package core

import "fmt"

// The exit codes of commands that check documents. Other commands end with ExitFailed for every failure.
const (
	// ExitFailed says that documents were checked and failed, and nothing else.
	ExitFailed = 1
	// ExitUsage says that the command line, or a file that it names, is wrong.
	ExitUsage = 2
	// ExitUnable says that a document could not be checked to the end; to try again makes sense.
	ExitUnable = 3
	// ExitInterrupted says that the command was told to stop.
	ExitInterrupted = 130
)

// ExitError ends a command with an exit code. Without a reason nothing is printed: the command has said it all.
type ExitError struct {
	Code   int
	Reason string
}

// Error returns the reason, or names the code.
func (e *ExitError) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Reason
}
