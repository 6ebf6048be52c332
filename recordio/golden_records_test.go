package recordio_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/algospec/algospec/internal/testenv"
	"github.com/algospec/algospec/recordio"
	"github.com/algospec/algospec/recordio/recordpb"
)

// Every field of every record that the manifest describes, by the generated message.
func TestGoldenRecords(t *testing.T) {
	dir, files := goldenFiles(t)
	for _, file := range files {
		t.Run(file.Name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(dir, file.File))
			require.NoError(t, err)
			reader := recordio.NewReader(bytes.NewReader(data))
			if strings.HasPrefix(file.Name, "multipart_") {
				reader.Multipart = recordio.DMLC
			}
			payloads, _ := readAll(reader)
			for _, want := range file.Records {
				if want.PayloadError != nil && strings.Contains(file.Note, "Go's") {
					continue // Google's C++ and Go differ
				}
				checkRecord(t, payloads[want.Index], want)
			}
		})
	}
}

// The files of real/, which AWS's own projects ship. Those that are split were joined both ways.
func TestGoldenRealFiles(t *testing.T) {
	dir := filepath.Join(testenv.Shared(t), "golden", "recordio", "real")
	text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	require.NoError(t, err)
	var manifest struct {
		Cases []struct {
			File         string
			Records      []goldenRecord
			NRecords     int            `json:"n_records"`
			WithMagic    []goldenRecord `json:"joined_with_magic"`
			Plain        []goldenRecord `json:"joined_plain"`
			PayloadsHash string         `json:"payloads_sha256"`
		}
	}
	require.NoError(t, json.Unmarshal(text, &manifest))
	for _, file := range manifest.Cases {
		t.Run(file.File, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(dir, file.File))
			require.NoError(t, err)
			if file.Plain == nil {
				payloads, err := readAll(recordio.NewReader(bytes.NewReader(data)))
				require.NoError(t, err)
				require.Len(t, payloads, file.NRecords)
				require.Equal(t, file.PayloadsHash, sum(bytes.Join(payloads, nil)))
				for i, want := range file.Records {
					if i >= 3 { // of a long file, the first and the last three
						i += len(payloads) - len(file.Records)
					}
					checkRecord(t, payloads[i], want)
				}
				return
			}
			for multipart, records := range map[recordio.Multipart][]goldenRecord{recordio.Plain: file.Plain, recordio.DMLC: file.WithMagic} {
				reader := recordio.NewReader(bytes.NewReader(data))
				reader.Multipart = multipart
				for _, want := range records {
					payload, err := reader.Next()
					if want.FramingError != "" {
						require.ErrorIs(t, err, recordio.ErrSplit)
						break
					}
					require.NoError(t, err)
					checkRecord(t, payload, want)
				}
			}
		})
	}
}

func checkRecord(t *testing.T, payload []byte, want goldenRecord) {
	t.Helper()
	require.Len(t, payload, want.PayloadLen)
	var got recordpb.Record
	err := proto.Unmarshal(payload, &got)
	if want.PayloadError != nil {
		require.Error(t, err, "record %d", want.Index)
		return
	}
	require.NoError(t, err, "record %d", want.Index)
	require.Equal(t, want.PayloadSHA256, sum(payload))
	checkValues(t, want.Features, got.Features)
	checkValues(t, want.Label, got.Label)
	checkText(t, want.UID, got.Uid)
	checkText(t, want.Metadata, got.Metadata)
	checkText(t, want.Configuration, got.Configuration)
}

func checkText(t *testing.T, want, got *string) {
	t.Helper()
	if want != nil {
		if raw, ok := strings.CutPrefix(*want, "base64:"); ok {
			text, err := base64.StdEncoding.DecodeString(raw)
			require.NoError(t, err)
			want = proto.String(string(text))
		}
	}
	require.Equal(t, want, got)
}

func checkValues(t *testing.T, want map[string]goldenValue, got map[string]*recordpb.Value) {
	t.Helper()
	require.Len(t, got, len(want))
	for name, value := range want {
		message, ok := got[name]
		require.True(t, ok, name)
		checkValue(t, value, message)
	}
}

func checkValue(t *testing.T, want goldenValue, got *recordpb.Value) {
	t.Helper()
	var kind string
	var values []byte
	var keys, shape []uint64
	switch v := got.GetValue().(type) {
	case nil:
		require.Nil(t, want.Type)
		return
	case *recordpb.Value_Bytes:
		require.Equal(t, "bytes", *want.Type)
		require.Len(t, v.Bytes.GetValue(), len(want.Value))
		for i, b := range want.Value {
			require.True(t, bytes.Equal(b, v.Bytes.GetValue()[i]))
		}
		require.Equal(t, want.ContentType, v.Bytes.ContentType)
		return
	case *recordpb.Value_Float32Tensor:
		kind, values = "float32", float32Bytes(v.Float32Tensor.GetValues())
		keys, shape = v.Float32Tensor.GetKeys(), v.Float32Tensor.GetShape()
	case *recordpb.Value_Float64Tensor:
		kind = "float64"
		for _, x := range v.Float64Tensor.GetValues() {
			values = binary.LittleEndian.AppendUint64(values, math.Float64bits(x))
		}
		keys, shape = v.Float64Tensor.GetKeys(), v.Float64Tensor.GetShape()
	case *recordpb.Value_Int32Tensor:
		kind = "int32"
		for _, x := range v.Int32Tensor.GetValues() {
			values = binary.LittleEndian.AppendUint32(values, uint32(x))
		}
		keys, shape = v.Int32Tensor.GetKeys(), v.Int32Tensor.GetShape()
	}
	require.Equal(t, kind, *want.Type)
	checkDigest(t, want.Values, values)
	var keyBytes []byte
	for _, key := range keys {
		keyBytes = binary.LittleEndian.AppendUint64(keyBytes, key)
	}
	checkDigest(t, want.Keys, keyBytes)
	require.Len(t, shape, len(want.Shape))
	for i, extent := range want.Shape {
		require.Equal(t, extent.String(), fmt.Sprint(shape[i]))
	}
}

// checkDigest compares the little-endian bytes of numbers with the manifest's digest, which it
// leaves out where there are none.
func checkDigest(t *testing.T, want goldenNumbers, got []byte) {
	t.Helper()
	if want.LESHA256 == "" {
		require.Zero(t, want.N)
		require.Empty(t, got)
		return
	}
	require.Equal(t, want.LESHA256, sum(got))
}
