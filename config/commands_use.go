package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// refuseWrongUse makes wrong arguments and missing flags errors of use, in every command at once: the apps' commands
// do not know of exit codes. What takes no file completes none.
func refuseWrongUse(command *cobra.Command) {
	checkArgs := command.Args
	if command.HasSubCommands() && !command.Runnable() {
		checkArgs, command.RunE = refuseCommand, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	command.Args = func(cmd *cobra.Command, args []string) error {
		err := cmd.ValidateRequiredFlags()
		if err == nil && checkArgs != nil {
			err = checkArgs(cmd, args)
		}
		if _, isUse := errors.AsType[*UsageError](err); err == nil || isUse {
			return err
		}
		return &UsageError{Reason: fmt.Sprintf("%v; see %s --help", err, cmd.CommandPath())}
	}
	if command.ValidArgs == nil && command.ValidArgsFunction == nil && !strings.Contains(command.Use, "FILE") {
		command.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, child := range command.Commands() {
		refuseWrongUse(child)
	}
}

// refuseCommand refuses an unknown command of a group.
func refuseCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	name := strings.TrimPrefix(cmd.CommandPath()+" "+args[0], cmd.Root().Name()+" ")
	return &UsageError{Reason: "there is no command " + name + "; see " + cmd.CommandPath() + " --help"}
}
