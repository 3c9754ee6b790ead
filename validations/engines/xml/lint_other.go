//go:build !linux

package xml

import "time"

// confine has no effect here: only the time of a child is limited. Use Linux in production.
func confine(int, uint64, time.Duration) error {
	return nil
}
