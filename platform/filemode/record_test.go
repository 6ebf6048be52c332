package filemode

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func recordText(lines ...any) []byte {
	var text []byte
	for _, v := range lines {
		text = append(text, line(v)...)
	}
	return text
}

func TestARecordIsReadAsItWasWritten(t *testing.T) {
	odd := "a\nb\x01\xff\"日本"
	text := recordText(header{"now"}, entry{"1", odd, 20, span{0, 10}}, entry{"2", "y", 0, span{}}, entry{"1", odd, 20, span{10, 20}})
	known := readRecord(bytes.NewReader(text), "now")
	require.Len(t, known, 2)
	require.Equal(t, []span{{0, 10}, {10, 20}}, known["1"].spans)
	require.True(t, known["1"].whole() && known["2"].whole())
	require.Empty(t, readRecord(bytes.NewReader(text), "then"), "of another boot")
	require.Empty(t, readRecord(bytes.NewReader(recordText(header{""}, entry{"2", "y", 0, span{}})), ""), "of a system without a name")
}

func TestImpossibleEntriesAreSkipped(t *testing.T) {
	text := recordText(header{"now"}, entry{"1", "x", 20, span{-1, 10}}, entry{"1", "x", 20, span{5, 4}}, entry{"1", "x", 20, span{0, 21}})
	require.Empty(t, readRecord(bytes.NewReader(text), "now"))
}

// Whatever happens to a record, nothing is read from it that was not written.
func FuzzReadRecord(f *testing.F) {
	text := recordText(header{"now"}, entry{"1", "x", 20, span{0, 10}}, entry{"2", "y", 0, span{}}, entry{"1", "x", 20, span{10, 20}})
	f.Add(40, 50, []byte("x"))
	f.Add(0, 0, []byte("\n"))
	f.Add(len(text)/2, len(text), []byte{})
	written := readRecord(bytes.NewReader(text), "now")
	f.Fuzz(func(t *testing.T, from, to int, in []byte) {
		from = min(max(0, from), len(text))
		to = min(max(from, to), len(text))
		for id, p := range readRecord(bytes.NewReader(slices.Concat(text[:from], in, text[to:])), "now") {
			require.NotNil(t, written[id])
			for _, s := range p.spans {
				require.Contains(t, written[id].spans, s)
			}
		}
	})
}
