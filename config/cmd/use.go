package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/simplevalidations/simplevalidations/config"
)

// refuseWrongUse makes wrong arguments and missing flags errors of use, in every command at once: the apps' commands
// do not know of exit codes. What takes no file completes none.
func refuseWrongUse(command *cobra.Command) {
	checkArgs := command.Args
	if command.HasSubCommands() && !command.Runnable() {
		checkArgs, command.RunE = refuseCommand, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	command.Args = func(cmd *cobra.Command, args []string) error {
		err := checkFlags(cmd)
		if err == nil && checkArgs != nil {
			err = checkArgs(cmd, args)
		}
		if _, isUse := errors.AsType[*config.UsageError](err); err == nil || isUse {
			return err
		}
		return &config.UsageError{Reason: explainArguments(cmd, args) + "; see " + cmd.CommandPath() + " --help"}
	}
	if command.ValidArgs == nil && command.ValidArgsFunction == nil && !strings.Contains(command.Use, "FILE") {
		command.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, child := range command.Commands() {
		refuseWrongUse(child)
	}
}

// checkFlags refuses a command without a flag that it requires.
func checkFlags(cmd *cobra.Command) error {
	var missing []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if slices.Contains(flag.Annotations[cobra.BashCompOneRequiredFlag], "true") && !flag.Changed {
			missing = append(missing, "--"+flag.Name)
		}
	})
	if len(missing) == 0 {
		return nil
	}
	return &config.UsageError{Reason: missingText(missing) + "; see " + cmd.CommandPath() + " --help"}
}

// explainArguments says which argument is missing or one too many, by the names in the command's usage line.
func explainArguments(cmd *cobra.Command, args []string) string {
	var names []string
	for _, word := range strings.Fields(cmd.Use)[1:] {
		if strings.HasPrefix(word, "-") {
			break
		}
		names = append(names, strings.TrimSuffix(word, "..."))
	}
	if len(args) < len(names) {
		return missingText(names[len(args):])
	}
	return fmt.Sprintf("%q is one argument too many", args[len(names)])
}

func missingText(names []string) string {
	verb := " is missing"
	if len(names) > 1 {
		verb = " are missing"
	}
	return strings.Join(names, " and ") + verb
}

// refuseCommand refuses an unknown command of a group, and names the one that was probably meant.
func refuseCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	const typos = 2
	cmd.SuggestionsMinimumDistance = typos
	name := strings.TrimPrefix(cmd.CommandPath()+" "+args[0], cmd.Root().Name()+" ")
	hint := "; see "
	if meant := cmd.SuggestionsFor(args[0]); len(meant) > 0 {
		hint = "; did you mean " + strings.Join(meant, " or ") + "? See "
	}
	return &config.UsageError{Reason: "there is no command " + name + hint + cmd.CommandPath() + " --help"}
}

// refuseFlag refuses a flag that is unknown or has a value of another type.
func refuseFlag(cmd *cobra.Command, err error) error {
	reason := err.Error()
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		types := map[string]string{
			"time": "a time like 2026-03-01 or 2026-03-01T09:30:00Z", "duration": "a duration like 90s, 15m or 24h",
			"int": "a whole number", "bool": "true or false",
		}
		if want := types[invalid.GetFlag().Value.Type()]; want != "" {
			reason = fmt.Sprintf("--%s is %s, not %q", invalid.GetFlag().Name, want, invalid.GetValue())
		}
	}
	return &config.UsageError{Reason: reason + "; see " + cmd.CommandPath() + " --help"}
}
