// Package cli tests the commands of the program, and the common clients that send documents from a command line.
package cli
