package step

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
)

// File holds the instances of a file that were kept.
type File struct {
	// instances are in the order of the file, in blocks, so that none of them is ever copied.
	instances [][]Instance
	count     int
	// texts has the parameters of instances, in blocks.
	texts [][]byte
	// runs are the numbers of all instances, kept or not.
	runs []run
	// byID orders the instances by their numbers; it is nil if the file has that order.
	byID []int32
	// limit is how much memory the instances may take, and budget what is left of it.
	limit, budget int64
}

func newFile(limit int64) *File {
	return &File{limit: limit, budget: limit}
}

// Instance is an object of a file.
type Instance struct {
	// ID is the number of its name: 12 for #12.
	ID uint64
	// offset is where the instance begins.
	offset             int64
	block, start, size uint32
	line, column       uint32
	// Class is the number that the caller chose.
	Class uint16
}

// run is a range of consecutive numbers.
type run struct{ first, last uint64 }

// The memory that parts of a file take. Lists of runs are copied when they grow, and count twice.
const (
	instanceSize   = 40
	runSize        = 32
	blockInstances = 4096
	blockBytes     = 1 << 20
)

// Len is the number of instances that were kept.
func (f *File) Len() int {
	return f.count
}

// At returns an instance by its place among those that were kept, in the order of the file.
func (f *File) At(i int) *Instance {
	return &f.instances[i/blockInstances][i%blockInstances]
}

// Place is where an instance begins.
func (i *Instance) Place() Place {
	return Place{Offset: i.offset, Line: int(i.line), Column: int(i.column)}
}

// Parameters are the values of an instance, as a list.
func (f *File) Parameters(i *Instance) Value {
	return f.texts[i.block][i.start : i.start+i.size]
}

// Find returns the index of the instance with a number, or false if it was not kept.
func (f *File) Find(id uint64) (int, bool) {
	at := sort.Search(f.count, func(i int) bool { return f.At(f.ranked(i)).ID >= id })
	if at == f.count {
		return 0, false
	}
	at = f.ranked(at)
	return at, f.At(at).ID == id
}

// ranked returns the index of the instance with the i-th smallest number.
func (f *File) ranked(i int) int {
	if f.byID == nil {
		return i
	}
	return int(f.byID[i])
}

// Has reports whether the file has an instance with a number, kept or not.
func (f *File) Has(id uint64) bool {
	at := sort.Search(len(f.runs), func(i int) bool { return f.runs[i].last >= id })
	return at < len(f.runs) && f.runs[at].first <= id
}

// Held is the approximate memory that the instances take.
func (f *File) Held() int64 {
	return f.limit - f.budget
}

// add records the number of an instance.
func (f *File) add(id uint64, at Place) *Fault {
	if last := len(f.runs) - 1; last >= 0 && f.runs[last].last+1 == id {
		f.runs[last].last = id
		return nil
	}
	before := cap(f.runs)
	f.runs = append(f.runs, run{id, id})
	return f.spend(int64(cap(f.runs)-before)*runSize, at)
}

// keep adds an instance with its parameters.
func (f *File) keep(id uint64, class uint16, text []byte, at Place) *Fault {
	last := len(f.texts) - 1
	if last < 0 || cap(f.texts[last])-len(f.texts[last]) < len(text) {
		// The first block is small, as most files of tests are.
		size := max(min(blockBytes, blockBytes>>8<<min(len(f.texts), 8)), len(text)) // 4 KiB and more
		if fault := f.spend(int64(size), at); fault != nil {
			return fault
		}
		f.texts = append(f.texts, make([]byte, 0, size))
		last++
	}
	start := len(f.texts[last])
	f.texts[last] = append(f.texts[last], text...)
	if f.count%blockInstances == 0 {
		f.instances = append(f.instances, nil)
	}
	block := &f.instances[len(f.instances)-1]
	before := cap(*block)
	*block = append(*block, Instance{
		ID: id, Class: class, offset: at.Offset,
		block: uint32(last), start: uint32(start), size: uint32(len(text)), //nolint:gosec // bounded by the budget
		line: uint32(at.Line), column: uint32(at.Column), //nolint:gosec // bounded by the size of the file
	})
	f.count++
	return f.spend(int64(cap(*block)-before)*instanceSize, at)
}

func (f *File) spend(bytes int64, at Place) *Fault {
	f.budget -= bytes
	if f.budget < 0 {
		return f.tooLarge(at)
	}
	return nil
}

func (f *File) tooLarge(at Place) *Fault {
	const mebibyte = 1 << 20
	message := fmt.Sprintf("what the check needs of this file takes more than %d MiB of memory", f.limit/mebibyte)
	return &Fault{"step.too_large", message, at}
}

// index prepares the look-up of instances. It returns a number that two instances share, or nil.
func (f *File) index() *uint64 {
	slices.SortFunc(f.runs, func(a, b run) int { return cmp.Compare(a.first, b.first) })
	for i := 1; i < len(f.runs); i++ {
		if f.runs[i].first <= f.runs[i-1].last {
			return &f.runs[i].first
		}
	}
	ascending := true
	for i := 1; i < f.count && ascending; i++ {
		ascending = f.At(i-1).ID < f.At(i).ID
	}
	if ascending {
		return nil
	}
	f.byID = make([]int32, f.count)
	for i := range f.byID {
		f.byID[i] = int32(i)
	}
	slices.SortFunc(f.byID, func(a, b int32) int { return cmp.Compare(f.At(int(a)).ID, f.At(int(b)).ID) })
	return nil
}
