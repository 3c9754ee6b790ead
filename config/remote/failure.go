package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/core/client"
	"github.com/simplevalidations/simplevalidations/validations/formats"
)

// failure gives an error of the client the exit code by which scripts decide what to do.
func failure(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if _, decided := errors.AsType[*cli.ExitError](err); decided {
		return err
	}
	code := cli.ExitUnable
	refused, isRefused := errors.AsType[*client.Error](err)
	switch {
	case ctx.Err() != nil:
		code = cli.ExitInterrupted
	case isUnanswered(err):
		code = cli.ExitUnreachable
	case isRefused:
		code = codeOf(refused)
	}
	return &cli.ExitError{Code: code, Reason: explain(err)}
}

// alsoSaying adds a line to the reason of an exit.
func alsoSaying(err error, line string) error {
	exit, ok := errors.AsType[*cli.ExitError](err)
	if !ok {
		return err
	}
	return &cli.ExitError{Code: exit.Code, Reason: exit.Reason + "\n" + formats.Clean(line)}
}

func isUnanswered(err error) bool {
	_, unknown := errors.AsType[*client.UnknownOutcomeError](err)
	_, unreachable := errors.AsType[*client.UnreachableError](err)
	return unknown || unreachable
}

func codeOf(refused *client.Error) int {
	switch {
	case refused.Status == http.StatusUnauthorized || refused.Status == http.StatusForbidden:
		return cli.ExitNotAllowed
	case refused.Status == http.StatusTooManyRequests || refused.Status == http.StatusPaymentRequired:
		return cli.ExitLimited
	case refused.Retryable || refused.Status >= http.StatusInternalServerError:
		return cli.ExitUnable
	default:
		return cli.ExitUsage
	}
}

// place is the location of a fault in a request, as the beginning of a line.
func place(field api.FieldError) string {
	var at strings.Builder
	if field.Line > 0 {
		fmt.Fprintf(&at, "line %d ", field.Line)
	}
	if field.Column > 0 {
		fmt.Fprintf(&at, "column %d ", field.Column)
	}
	if name := field.Pointer + field.Parameter; name != "" {
		at.WriteString(name + " ")
	}
	return at.String()
}

// explain says what went wrong, with each place that is at fault, and whether something was started.
func explain(err error) string {
	lines := []string{formats.Clean(err.Error())}
	if refused, ok := errors.AsType[*client.Error](err); ok {
		for _, field := range refused.Errors {
			if !strings.Contains(lines[0], field.Detail) {
				lines = append(lines, "  "+formats.Clean(place(field)+field.Detail))
			}
		}
		if refused.Type != "" {
			lines = append(lines, "see "+formats.Clean(refused.Type)+" of the service")
		}
	}
	if _, ok := errors.AsType[*client.UnreachableError](err); ok && client.KeyOf(err) != "" {
		lines = append(lines, "nothing was started")
	}
	return strings.Join(lines, "\n")
}
