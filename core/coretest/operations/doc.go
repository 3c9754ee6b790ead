// Package operations tests the program as operators see it: how processes start and stop, and what they report.
package operations
