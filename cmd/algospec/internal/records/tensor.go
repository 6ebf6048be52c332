package records

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/algospec/algospec/recordio/recordpb"
)

// decode decodes a payload into rec. Fields that the schema does not know are dropped.
func decode(payload []byte, rec *recordpb.Record) error {
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(payload, rec); err != nil {
		return notRecord{err}
	}
	return nil
}

// A notRecord says why a payload is no Record.
type notRecord struct{ error }

// Error leaves out the prefix of package proto, whose spacing differs from build to build.
func (e notRecord) Error() string {
	return "not a Record: " + strings.TrimSpace(strings.TrimPrefix(e.error.Error(), "proto:"))
}

func (e notRecord) Unwrap() error { return e.error }

// Names of the kinds of value.
const (
	float32Kind = "float32"
	float64Kind = "float64"
	int32Kind   = "int32"
	bytesKind   = "bytes"
	noKind      = "nothing" // no member of the oneof is set
)

// A tensor is a value of any kind.
type tensor struct {
	kind        string
	float32s    []float32
	float64s    []float64
	int32s      []int32
	bytes       *recordpb.Bytes
	keys, shape []uint64
}

func tensorOf(value *recordpb.Value) tensor {
	switch v := value.GetValue().(type) {
	case *recordpb.Value_Float32Tensor:
		t := v.Float32Tensor
		return tensor{kind: float32Kind, float32s: t.GetValues(), keys: t.GetKeys(), shape: t.GetShape()}
	case *recordpb.Value_Float64Tensor:
		t := v.Float64Tensor
		return tensor{kind: float64Kind, float64s: t.GetValues(), keys: t.GetKeys(), shape: t.GetShape()}
	case *recordpb.Value_Int32Tensor:
		t := v.Int32Tensor
		return tensor{kind: int32Kind, int32s: t.GetValues(), keys: t.GetKeys(), shape: t.GetShape()}
	case *recordpb.Value_Bytes:
		return tensor{kind: bytesKind, bytes: v.Bytes}
	}
	return tensor{kind: noKind}
}

// numeric reports whether the tensor holds numbers.
func (t tensor) numeric() bool { return t.kind != bytesKind && t.kind != noKind }

// len returns how many numbers are stored.
func (t tensor) len() int { return len(t.float32s) + len(t.float64s) + len(t.int32s) }

// at returns number i of those stored.
func (t tensor) at(i int) float64 {
	switch t.kind {
	case float32Kind:
		return float64(t.float32s[i])
	case float64Kind:
		return t.float64s[i]
	}
	return float64(t.int32s[i])
}

// sparse reports whether numbers that are not stored are zero: there are keys, or a shape and no
// values.
func (t tensor) sparse() bool { return len(t.keys) > 0 || len(t.shape) > 0 && t.len() == 0 }

var errShapeOverflow = errors.New("the shape overflows")

// columns returns how many numbers the row has, and false where a sparse one does not tell.
func (t tensor) columns() (n uint64, ok bool, err error) {
	if len(t.shape) == 0 {
		return uint64(t.len()), !t.sparse(), nil
	}
	n = 1
	for _, extent := range t.shape {
		over, product := bits.Mul64(n, extent)
		if over != 0 {
			return 0, false, errShapeOverflow
		}
		n = product
	}
	return n, true, nil
}

// misfit returns what does not fit in a tensor that is well-formed.
func (t tensor) misfit() error {
	columns, known, err := t.columns()
	switch {
	case err != nil:
		return err
	case len(t.keys) > 0 && len(t.keys) != t.len():
		return fmt.Errorf("%d keys for %d values", len(t.keys), t.len())
	case !t.sparse() && columns != uint64(t.len()):
		return fmt.Errorf("%d values in a shape of %d", t.len(), columns)
	}
	ascending := true
	for i, key := range t.keys {
		if known && key >= columns {
			return fmt.Errorf("key %d in a row of %d", key, columns)
		}
		ascending = ascending && (i == 0 || key > t.keys[i-1])
	}
	if ascending {
		return nil
	}
	sorted := slices.Sorted(slices.Values(t.keys))
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			return fmt.Errorf("key %d twice", sorted[i])
		}
	}
	return nil
}
