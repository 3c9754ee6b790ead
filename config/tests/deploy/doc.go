// Package deploy tests the files of config/deploy: each is read by the program that it is for, and names only settings,
// commands and metrics that exist. That operators can follow the guide with them is tested in core/coretest/guides.
package deploy
