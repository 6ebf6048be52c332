package records

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/cmd/algospec/internal/console"
)

// Whatever the input is, the commands end with output or an error.
func FuzzCommands(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x1f\x8b not gzip"))
	for _, seed := range []string{ // the vectors of the container contract, section 5.6
		"\x0a\x1a\x0a\x06values\x12\x10\x12\x0e\x0a\x0c\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x40\x40" +
			"\x12\x12\x0a\x06values\x12\x08\x12\x06\x0a\x04\x00\x00\x80\x3f",
		"\x0a\x1f\x0a\x06values\x12\x15\x12\x13\x0a\x08\x00\x00\x00\x3f\x00\x00\x00\x40\x12\x03\x03\xac\x02\x1a\x02\xe8\x07",
		"\x0a\x0f\x0a\x06values\x12\x05\x12\x03\x1a\x01\x04",
		"\x0a\x0c\x0a\x06values\x12\x02\x4a\x00\x1a\x00\x22\x01\xff",
	} {
		frame := append([]byte("\x0a\x23\xd7\xce"), byte(len(seed)), 0, 0, 0)
		f.Add(append(append(frame, seed...), make([]byte, -len(seed)&3)...))
	}
	how := framing{Multipart: "plain", MaxRecord: 1 << 20}
	f.Fuzz(func(t *testing.T, data []byte) {
		run := func(command interface {
			Run(ctx context.Context, streams console.Streams) error
		}) *bytes.Buffer {
			var out bytes.Buffer
			_ = command.Run(t.Context(), console.Streams{In: bytes.NewReader(data), Out: &out, Err: io.Discard})
			return &out
		}
		stdin := []string{"-"}
		for line := range bytes.Lines(run(&Cat{Inputs: stdin, JSON: true, framing: how}).Bytes()) {
			require.True(t, json.Valid(line), "%s", line)
		}
		run(&Cat{Inputs: stdin, framing: how})
		run(&Stat{Inputs: stdin, Labels: 2, framing: how})
		require.True(t, json.Valid(run(&Stat{Inputs: stdin, Labels: 2, JSON: true, framing: how}).Bytes()))
		require.NotEmpty(t, run(&Verify{Inputs: stdin, framing: how}).Bytes())
	})
}
