package core

import "fmt"

// The exit codes of commands that check documents or ask a service. Other commands end with ExitFailed for every
// failure.
const (
	// ExitFailed says that documents were checked and failed, and nothing else.
	ExitFailed = 1
	// ExitUsage says that the command line, or a file that it names, is wrong.
	ExitUsage = 2
	// ExitUnable says that a document could not be checked to the end; to try again makes sense.
	ExitUnable = 3
	// ExitGoesOn says that the command has stopped waiting for a run that goes on.
	ExitGoesOn = 4
	// ExitNotAllowed says that the token is not known or may not do this.
	ExitNotAllowed = 5
	// ExitLimited says that a quota is used up, or that there were too many requests.
	ExitLimited = 6
	// ExitUnreachable says that the service did not answer.
	ExitUnreachable = 7
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
