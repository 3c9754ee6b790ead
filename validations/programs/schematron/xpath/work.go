package xpath

import (
	"fmt"

	"github.com/simplevalidations/simplevalidations/validations/programs/port"
)

// Work bounds what the evaluations on one document cost. One unit is a node that is visited, or a byte that is read.
type Work struct{ *port.Work }

// NewWork returns so much work.
func NewWork(units int64) Work {
	return Work{port.NewWork(units, "needed to visit more than %d nodes and bytes")}
}

// maxText bounds the texts that expressions make: they may be far larger than the document, by whose size its check
// is given its memory.
const maxText = 16 << 20

// mayHold says whether a text of so many bytes may be made. If not, the work ends.
func (w Work) mayHold(size int) bool {
	if size > maxText {
		w.End(fmt.Sprintf("needed to make a text of more than %d bytes", maxText))
	}
	return w.Err() == nil
}
