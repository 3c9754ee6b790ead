package validations

import (
	"io"
	"sync"
)

// Upload is a document in chunks, which are read from the database on demand. One chunk is in memory at a time.
type Upload struct {
	size int64
	// read returns the chunk that holds a byte, and the offset of the chunk.
	read func(at int64) (int64, []byte, error)

	mu    sync.Mutex
	begin int64
	chunk []byte
}

// NewUpload makes an upload of that size. read returns the chunk that holds a byte, and the offset of the chunk.
func NewUpload(size int64, read func(at int64) (int64, []byte, error)) *Upload {
	return &Upload{size: size, read: read}
}

// ReadAt reads a part of the document.
func (u *Upload) ReadAt(p []byte, off int64) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := 0
	for n < len(p) {
		at := off + int64(n)
		if at >= u.size {
			return n, io.EOF
		}
		if at < u.begin || at >= u.begin+int64(len(u.chunk)) {
			var err error
			if u.begin, u.chunk, err = u.read(at); err != nil {
				return n, err
			}
		}
		n += copy(p[n:], u.chunk[at-u.begin:])
	}
	return n, nil
}
