package recordio_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/algospec/algospec/recordio"
	"github.com/algospec/algospec/recordio/recordpb"
)

func unhex(text string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

// Payloads of the container contract, 5.6: G1, G2, G3 and G8.
var (
	denseLabelled = unhex("0a 1a 0a 06 76 61 6c 75 65 73 12 10 12 0e 0a 0c 00 00 80 3f 00 00 00 40 00 00 40 40" +
		"12 12 0a 06 76 61 6c 75 65 73 12 08 12 06 0a 04 00 00 80 3f")
	sparse   = unhex("0a 1f 0a 06 76 61 6c 75 65 73 12 15 12 13 0a 08 00 00 00 3f 00 00 00 40 12 03 03 ac 02 1a 02 e8 07")
	allZero  = unhex("0a 0f 0a 06 76 61 6c 75 65 73 12 05 12 03 1a 01 04")
	unpacked = unhex("0a 1b 0a 06 76 61 6c 75 65 73 12 11 12 0f 0d 00 00 80 3f 0d 00 00 00 40 0d 00 00 40 40")
)

func TestRowsOfThePublishedVectors(t *testing.T) {
	var d recordio.RowDecoder
	row := []float32{9, 9, 9}
	label, err := d.Decode(denseLabelled, row)
	require.NoError(t, err)
	require.Equal(t, []float32{1, 2, 3}, row)
	require.Equal(t, []float32{1}, label)

	label, err = d.Decode(unpacked, row)
	require.NoError(t, err)
	require.Equal(t, []float32{1, 2, 3}, row)
	require.Empty(t, label)

	wide := make([]float32, 1000)
	_, err = d.Decode(sparse, wide)
	require.NoError(t, err)
	want := make([]float32, 1000)
	want[3], want[300] = 0.5, 2
	require.Equal(t, want, wide)

	four := []float32{9, 9, 9, 9}
	_, err = d.Decode(allZero, four)
	require.NoError(t, err)
	require.Equal(t, make([]float32, 4), four)
}

func TestARowThatDoesNotFitIsRefused(t *testing.T) {
	var d recordio.RowDecoder
	for _, c := range []struct {
		name    string
		payload []byte
		columns int
		want    string
	}{
		{"too short", denseLabelled, 4, "3 features, want 4"},
		{"too long", denseLabelled, 2, "3 features, want 2"},
		{"sparse, another shape", sparse, 999, "1000 features, want 999"},
		{"empty payload", nil, 3, `no feature named "values"`},
		{"other name", encode(t, &recordpb.Record{Features: map[string]*recordpb.Value{"x": float32s(1)}}), 1, `no feature named "values" (there is "x")`},
		{"bytes", encode(t, row(&recordpb.Value{Value: &recordpb.Value_Bytes{Bytes: &recordpb.Bytes{}}})), 1, `feature "values" is bytes, not numbers`},
		{"text", []byte("hello"), 1, "not a Record: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			// Also right after a record whose layout is expected again.
			for range 2 {
				_, err := d.Decode(c.payload, make([]float32, c.columns))
				require.ErrorContains(t, err, c.want)
				_, err = d.Decode(denseLabelled, make([]float32, 3))
				require.NoError(t, err)
			}
		})
	}
}

func encode(tb testing.TB, record *recordpb.Record) []byte {
	tb.Helper()
	payload, err := proto.Marshal(record)
	require.NoError(tb, err)
	return payload
}

func row(value *recordpb.Value) *recordpb.Record {
	return &recordpb.Record{Features: map[string]*recordpb.Value{"values": value}}
}

func float32s(values ...float32) *recordpb.Value {
	return &recordpb.Value{Value: &recordpb.Value_Float32Tensor{Float32Tensor: &recordpb.Float32Tensor{Values: values}}}
}

// decodeByMessage is the oracle: the same row by way of the generated message, written plainly.
func decodeByMessage(payload []byte, columns int) (row, label []float32, err error) {
	var record recordpb.Record
	if err := proto.Unmarshal(payload, &record); err != nil {
		return nil, nil, err
	}
	feature, ok := record.GetFeatures()["values"]
	if !ok {
		return nil, nil, fmt.Errorf("no feature")
	}
	values, keys, shape, err := numbers(feature)
	if err != nil {
		return nil, nil, err
	}
	row = make([]float32, columns)
	if len(shape) > 0 {
		product := uint64(1)
		for _, extent := range shape {
			if extent != 0 && product > math.MaxUint64/extent {
				return nil, nil, fmt.Errorf("overflow")
			}
			product *= extent
		}
		if product != uint64(columns) {
			return nil, nil, fmt.Errorf("shape")
		}
	}
	switch {
	case len(keys) > 0:
		seen := map[uint64]bool{}
		for i, key := range keys {
			if len(keys) != len(values) || key >= uint64(columns) || seen[key] {
				return nil, nil, fmt.Errorf("keys")
			}
			seen[key] = true
			row[key] = values[i]
		}
	case len(values) == columns:
		copy(row, values)
	case len(values) > 0 || len(shape) == 0:
		return nil, nil, fmt.Errorf("width")
	}
	if value, ok := record.GetLabel()["values"]; ok {
		if label, keys, _, err = numbers(value); err == nil && len(keys) > 0 {
			err = fmt.Errorf("sparse label")
		}
	}
	return row, label, err
}

func numbers(value *recordpb.Value) (values []float32, keys, shape []uint64, err error) {
	switch v := value.GetValue().(type) {
	case *recordpb.Value_Float32Tensor:
		return v.Float32Tensor.GetValues(), v.Float32Tensor.GetKeys(), v.Float32Tensor.GetShape(), nil
	case *recordpb.Value_Float64Tensor:
		for _, x := range v.Float64Tensor.GetValues() {
			if math.IsInf(float64(float32(x)), 0) && !math.IsInf(x, 0) {
				return nil, nil, nil, fmt.Errorf("range")
			}
			values = append(values, float32(x))
		}
		return values, v.Float64Tensor.GetKeys(), v.Float64Tensor.GetShape(), nil
	case *recordpb.Value_Int32Tensor:
		for _, x := range v.Int32Tensor.GetValues() {
			values = append(values, float32(x))
		}
		return values, v.Int32Tensor.GetKeys(), v.Int32Tensor.GetShape(), nil
	}
	return nil, nil, nil, fmt.Errorf("no numbers")
}

// agree fails where RowDecoder and the oracle differ. before, when it decodes, sets the layout
// that the decoder expects.
func agree(t require.TestingT, before, payload []byte, columns int) {
	want, wantLabel, wantErr := decodeByMessage(payload, columns)
	var d recordio.RowDecoder
	for _, expect := range [][]byte{nil, before, payload} {
		d.Decode(expect, make([]float32, columns))
		row := make([]float32, columns)
		label, err := d.Decode(payload, row)
		require.Equal(t, wantErr == nil, err == nil, "oracle: %v, decoder: %v", wantErr, err)
		if err == nil {
			require.Equal(t, float32Bytes(want), float32Bytes(row))
			require.Equal(t, float32Bytes(wantLabel), float32Bytes(label))
			agreeSparse(t, &d, payload, want, wantLabel)
		}
	}
}

// agreeSparse expects the same row, spread out, of DecodeSparse.
func agreeSparse(t require.TestingT, d *recordio.RowDecoder, payload []byte, want, wantLabel []float32) {
	got, err := d.DecodeSparse(payload)
	require.NoError(t, err)
	require.Equal(t, float32Bytes(wantLabel), float32Bytes(got.Label))
	if got.Keys == nil {
		require.Equal(t, len(want), got.Columns)
		require.Equal(t, float32Bytes(want), float32Bytes(got.Values))
		return
	}
	row := make([]float32, len(want))
	for i, key := range got.Keys {
		row[key] = got.Values[i]
	}
	require.Equal(t, float32Bytes(want), float32Bytes(row))
	if got.Columns != 0 {
		require.Equal(t, len(want), got.Columns)
	}
}

func TestRowsAgreeWithTheGeneratedMessage(t *testing.T) {
	value := rapid.Custom(func(t *rapid.T) *recordpb.Value {
		n := rapid.IntRange(0, 5).Draw(t, "n")
		keys := rapid.SliceOfN(rapid.Uint64Range(0, 6), 0, 5).Draw(t, "keys")
		shape := rapid.SliceOfN(rapid.Uint64Range(0, 5), 0, 2).Draw(t, "shape")
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return &recordpb.Value{Value: &recordpb.Value_Float64Tensor{Float64Tensor: &recordpb.Float64Tensor{
				Values: rapid.SliceOfN(rapid.Float64(), n, n).Draw(t, "values"), Keys: keys, Shape: shape}}}
		case 1:
			return &recordpb.Value{Value: &recordpb.Value_Int32Tensor{Int32Tensor: &recordpb.Int32Tensor{
				Values: rapid.SliceOfN(rapid.Int32(), n, n).Draw(t, "values"), Keys: keys, Shape: shape}}}
		case 2:
			return &recordpb.Value{Value: &recordpb.Value_Bytes{Bytes: &recordpb.Bytes{Value: [][]byte{{1}}}}}
		case 3:
			return float32s(rapid.SliceOfN(rapid.Float32(), n, n).Draw(t, "dense")...)
		}
		return &recordpb.Value{Value: &recordpb.Value_Float32Tensor{Float32Tensor: &recordpb.Float32Tensor{
			Values: rapid.SliceOfN(rapid.Float32(), n, n).Draw(t, "values"), Keys: keys, Shape: shape}}}
	})
	record := rapid.Custom(func(t *rapid.T) []byte {
		name := rapid.SampledFrom([]string{"values", "values", "values", "x", ""})
		r := &recordpb.Record{
			Features: rapid.MapOfN(name, value, 0, 2).Draw(t, "features"),
			Label:    rapid.MapOfN(name, value, 0, 2).Draw(t, "label"),
		}
		if rapid.Bool().Draw(t, "with uid") {
			r.Uid = proto.String(rapid.StringN(0, 3, 3).Draw(t, "uid"))
		}
		payload, err := proto.Marshal(r)
		require.NoError(t, err)
		return payload
	})
	rapid.Check(t, func(t *rapid.T) {
		agree(t, record.Draw(t, "before"), record.Draw(t, "record"), rapid.IntRange(0, 6).Draw(t, "columns"))
	})
}

// The layout of the record before must not hide a difference anywhere in the next.
func TestEveryChangedByteOfARecordCounts(t *testing.T) {
	for i := range denseLabelled {
		for bit := range 8 {
			changed := bytes.Clone(denseLabelled)
			changed[i] ^= 1 << bit
			agree(t, denseLabelled, changed, 3)
		}
	}
}

func FuzzRows(f *testing.F) {
	for _, payload := range [][]byte{denseLabelled, sparse, allZero, unpacked, nil} {
		f.Add(denseLabelled, payload, uint16(3))
	}
	f.Add(denseLabelled, bytes.Join([][]byte{denseLabelled, denseLabelled}, nil), uint16(3))
	f.Add(sparse, sparse, uint16(1000))
	f.Fuzz(func(t *testing.T, before, payload []byte, columns uint16) {
		agree(t, before, payload, int(columns))
	})
}

func TestSparseRowsAreDecodedAsTheyStand(t *testing.T) {
	var d recordio.RowDecoder
	got, err := d.DecodeSparse(sparse)
	require.NoError(t, err)
	require.Equal(t, recordio.Row{Columns: 1000, Keys: []int32{3, 300}, Values: []float32{0.5, 2}}, clone(got))

	got, err = d.DecodeSparse(allZero)
	require.NoError(t, err)
	require.NotNil(t, got.Keys, "a row of zeros is sparse")
	require.Equal(t, 4, got.Columns)
	require.Empty(t, got.Keys)

	got, err = d.DecodeSparse(denseLabelled)
	require.NoError(t, err)
	require.Equal(t, recordio.Row{Columns: 3, Values: []float32{1, 2, 3}, Label: []float32{1}}, clone(got))
}

func clone(r recordio.Row) recordio.Row {
	return recordio.Row{Columns: r.Columns, Keys: slices.Clone(r.Keys), Values: slices.Clone(r.Values), Label: append([]float32(nil), r.Label...)}
}

func TestSparseRowsThatDoNotFitAreRefused(t *testing.T) {
	w := recordio.NewWriter(io.Discard)
	require.ErrorContains(t, w.WriteSparseRow(3, []int32{3}, []float32{1}), "key 3 in a row of 3 features")
	require.ErrorContains(t, w.WriteSparseRow(3, []int32{-1}, []float32{1}), "key -1 in a row of 3 features")
	require.ErrorContains(t, w.WriteSparseRow(3, []int32{1}, nil), "1 keys for 0 values")
	var d recordio.RowDecoder
	_, err := d.DecodeSparse([]byte("hello"))
	require.ErrorContains(t, err, "not a Record: ")
}

func TestRowsLikeTheOneBeforeCostNoAllocation(t *testing.T) {
	var d recordio.RowDecoder
	row := make([]float32, 3)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if _, err := d.Decode(denseLabelled, row); err != nil {
			t.Fatal(err)
		}
	}))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if _, err := d.DecodeSparse(sparse); err != nil {
			t.Fatal(err)
		}
	}))
}
