package cluster

import (
	"context"
	"fmt"
	"unsafe"
)

// A Number is what hosts can add up, or compare.
type Number interface{ float32 | float64 | int64 }

// An Op is how the numbers of several hosts become one.
type Op byte

const (
	Sum Op = iota // of int64 it wraps around, as in Go
	Min           // as the builtin min: NaN where there is one
	Max
	reductions
)

func (o Op) String() string { return [reductions]string{"Sum", "Min", "Max"}[o] }

// AllReduce replaces x, on every host, by what op makes of all hosts' x, element by element and in rank
// order, so that all hosts hold the same bits. Lengths must be equal. After an error x may hold anything.
func AllReduce[T Number](ctx context.Context, c *Cluster, op Op, x []T) error {
	v, err := reduced("AllReduce", op, x)
	if err != nil {
		return err
	}
	_, err = c.do(ctx, call{op: allReduce, vector: v})
	return err
}

// ReduceScatter does what AllReduce does for one share of the numbers on each host, and returns this host's
// share of x: the shares are as many consecutive parts as there are hosts, by rank, and differ by one
// number at most. The rest of x may hold anything afterwards.
func ReduceScatter[T Number](ctx context.Context, c *Cluster, op Op, x []T) ([]T, error) {
	v, err := reduced("ReduceScatter", op, x)
	if err != nil {
		return nil, err
	}
	if _, err := c.do(ctx, call{op: reduceScatter, vector: v}); err != nil {
		return nil, err
	}
	from, to := share(len(x), c.rank, c.Size())
	return x[from:to:to], nil
}

// share returns where the part of a rank begins and ends among length numbers.
func share(length, rank, size int) (from, to int) {
	q, r := length/size, length%size
	from = q*rank + min(r, rank)
	to = from + q
	if rank < r {
		to++
	}
	return from, to
}

// Broadcast replaces x, on every host, by the x of the host whose rank is root. Lengths must be equal.
func Broadcast[T Number](ctx context.Context, c *Cluster, root int, x []T) error {
	if root < 0 || root >= c.Size() {
		return fmt.Errorf("cluster: broadcast from rank %d, of %d hosts", root, c.Size())
	}
	_, err := c.do(ctx, call{op: broadcast, root: root, vector: vectorOf(x)})
	return err
}

func reduced[T Number](what string, op Op, x []T) (vector, error) {
	if op >= reductions {
		return vector{}, fmt.Errorf("cluster: %s with operation %d, which is none", what, op)
	}
	v := vectorOf(x)
	v.reduction = op
	return v, nil
}

// An element is the type of a vector's numbers.
type element byte

const (
	ofFloat64 element = iota
	ofFloat32
	ofInt64
	elements
)

func (e element) String() string { return [elements]string{"float64", "float32", "int64"}[e] }

func (e element) width() int { return [elements]int{8, 4, 8}[e] }

// A vector is numbers of any type, as their memory, which is also how they travel: hosts of one job run
// the same program, and the handshake compares the order of bytes.
type vector struct {
	memory    []byte
	element   element
	reduction Op
}

func vectorOf[T Number](x []T) vector {
	v := vector{memory: memory(x)}
	switch any(x).(type) {
	case []float32:
		v.element = ofFloat32
	case []int64:
		v.element = ofInt64
	}
	return v
}

// length returns how many numbers there are.
func (v vector) length() int { return len(v.memory) / v.element.width() }

// share returns the memory of a rank's share.
func (v vector) share(rank, size int) []byte {
	from, to := share(v.length(), rank, size)
	width := v.element.width()
	return v.memory[from*width : to*width]
}

// reduce takes the numbers of src, which are those of the next rank, into dst. All engines reduce here, so
// that the bits are the same, those of NaN too.
func (v vector) reduce(dst, src []byte) {
	switch v.element {
	case ofFloat64:
		reduce[float64](v.reduction, dst, src)
	case ofFloat32:
		reduce[float32](v.reduction, dst, src)
	case ofInt64:
		reduce[int64](v.reduction, dst, src)
	}
}

func reduce[T Number](op Op, dst, src []byte) {
	x, y := numbers[T](dst), numbers[T](src)
	y = y[:len(x)]
	switch op {
	case Sum:
		for i := range x {
			x[i] += y[i]
		}
	case Min:
		for i := range x {
			x[i] = min(x[i], y[i])
		}
	case Max:
		for i := range x {
			x[i] = max(x[i], y[i])
		}
	}
}

// memory returns what numbers are stored in.
func memory[T Number | uint64](x []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(*new(T))))
}

// numbers returns the numbers in memory.
func numbers[T Number](memory []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(memory))), len(memory)/int(unsafe.Sizeof(*new(T))))
}
