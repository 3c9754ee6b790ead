// Package cli holds what the command lines of the product share: exit codes, the environment, documents as sources, and
// tables for people.
package cli

import "fmt"

// The exit codes of commands that check documents or call a service. Other commands end with ExitFailed for every
// failure.
const (
	// ExitFailed says that documents were checked and failed, and nothing else.
	ExitFailed = 1
	// ExitUsage says that the command line, or a file that it names, is wrong.
	ExitUsage = 2
	// ExitUnable says that a document could not be checked to the end; to try again makes sense.
	ExitUnable = 3
	// ExitGoesOn says that the command has stopped waiting for a run that has not ended.
	ExitGoesOn = 4
	// ExitNotAllowed says that the token is unknown, or that its role does not allow the action.
	ExitNotAllowed = 5
	// ExitLimited says that a quota is used up, or that there were too many requests.
	ExitLimited = 6
	// ExitUnreachable says that the service did not answer.
	ExitUnreachable = 7
	// ExitOutdated says that the schema of the database is older than the release, and that nothing was done.
	ExitOutdated = 8
	// ExitInterrupted says that a signal has stopped the command.
	ExitInterrupted = 130
)

// ExitError ends a command with an exit code. Without a reason nothing is printed, because the command has printed it.
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

// Misuse ends a command whose use is wrong. The reason says what to do instead.
func Misuse(format string, args ...any) error {
	return &ExitError{Code: ExitUsage, Reason: fmt.Sprintf(format, args...)}
}
