package recordio

import (
	"bytes"

	"google.golang.org/protobuf/encoding/protowire"
)

// A layout is where a record's numbers stand, learnt from one record to predict the next: the
// records of a data set nearly always have the same tags, lengths and order, so that comparing
// the bytes around the numbers is all the parsing they need. Only dense float32 rows with a
// float32 or float64 label, or none, have one.
type layout struct {
	size             int // of the payload; 0 where there is no layout
	feature, label   region
	labelKind        protowire.Number
	head, join, tail []byte // the fixed bytes before, between and after the regions
}

type region struct{ begin, end int }

// learn takes the layout of a record whose tensors are parts of its payload.
func (l *layout) learn(payload []byte, t rowTensors) {
	l.size = 0
	if t.feature.kind != float32Tensor || t.feature.keys != nil || len(t.feature.shape) > 0 ||
		t.label.keys != nil || len(t.label.shape) > 0 || t.label.kind == int32Tensor {
		return
	}
	l.feature = locate(payload, t.feature.values)
	l.label = locate(payload, t.label.values)
	if l.label.begin == l.label.end {
		l.label = region{l.feature.end, l.feature.end}
	}
	if l.label.begin < l.feature.end {
		return
	}
	l.labelKind = t.label.kind
	l.head = append(l.head[:0], payload[:l.feature.begin]...)
	l.join = append(l.join[:0], payload[l.feature.end:l.label.begin]...)
	l.tail = append(l.tail[:0], payload[l.label.end:]...)
	l.size = len(payload)
}

// locate returns where part, a slice of payload, begins and ends in it. Both slices reach to the
// end of the same array, so that their capacities tell.
func locate(payload, part []byte) region {
	if len(part) == 0 {
		return region{}
	}
	begin := cap(payload) - cap(part)
	return region{begin, begin + len(part)}
}

// matches reports whether the payload is laid out so and holds a row of the given width.
func (l *layout) matches(payload []byte, columns int) bool {
	return len(payload) == l.size && l.size > 0 &&
		l.feature.end-l.feature.begin == 4*columns &&
		bytes.Equal(payload[:l.feature.begin], l.head) &&
		bytes.Equal(payload[l.feature.end:l.label.begin], l.join) &&
		bytes.Equal(payload[l.label.end:], l.tail)
}

// read decodes a payload that matches, and appends its label to label.
func (l *layout) read(payload []byte, row, label []float32) ([]float32, error) {
	appendFloat32s(row[:0], payload[l.feature.begin:l.feature.end])
	return tensor{kind: l.labelKind, values: payload[l.label.begin:l.label.end]}.appendValues(label)
}
