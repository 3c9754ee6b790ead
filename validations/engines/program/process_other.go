//go:build !linux

package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// confine has no effect here: only the time of a child is limited. Use Linux in production.
func confine(int, Command, int) error {
	return nil
}

// boundedHere bounds the time of a child by the clock.
func boundedHere(ctx context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, most)
}

// endWithLeader has no effect here: what a child leaves behind ends with the context alone.
func (*process) endWithLeader() {}

// textFile returns a file that has lost its name.
func textFile(text []byte) (*os.File, error) {
	file, err := os.CreateTemp("", "text")
	if err != nil {
		return nil, fmt.Errorf("make a temporary file: %w", err)
	}
	_, err = file.Write(text)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err = errors.Join(err, os.Remove(file.Name())); err != nil {
		return nil, errors.Join(fmt.Errorf("write a temporary file: %w", err), file.Close())
	}
	return file, nil
}
