package s3stream

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// joinLines is how objects of lines are to be joined.
func joinLines(objects [][]byte) (all []byte) {
	for _, object := range objects {
		if len(object) > 0 && len(all) > 0 && all[len(all)-1] != '\n' {
			all = append(all, '\n')
		}
		all = append(all, object...)
	}
	return all
}

func TestALineEndsWithItsObject(t *testing.T) {
	for _, c := range []struct {
		name, want string
		objects    []string
	}{
		{"newlines are there", "a\nb\n", []string{"a\n", "b\n"}},
		{"the first lacks one", "a\nb\n", []string{"a", "b\n"}},
		{"the last lacks one", "a\nb", []string{"a\n", "b"}},
		{"all lack one", "a\nb\nc", []string{"a", "b", "c"}},
		{"empty objects between", "a\nb", []string{"", "a", "", "", "b", ""}},
		{"only empty objects", "", []string{"", ""}},
		{"empty lines stay", "a\n\n\nb\n\n", []string{"a\n\n", "\nb\n\n"}},
		{"an object that is a newline", "a\n\nb", []string{"a", "\n", "b"}},
		{"nothing is known of CR", "a\r\nb\r\n", []string{"a\r", "b\r\n"}},
		{"one byte each", "a\nb\nc\nd", []string{"a", "b\n", "c", "d"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := &ram{objects: map[string][]byte{}}
			var keys []string
			for i, object := range c.objects {
				keys = append(keys, fmt.Sprint(i))
				client.objects[keys[i]] = []byte(object)
			}
			for _, opts := range []Options{tiny, small, {}} {
				opts.Lines = true
				requireEveryWay(t, NewSource(client, client.list(client.sized, keys...), opts), []byte(c.want))
				requireEveryWay(t, NewSource(client, client.list(unsized, keys...), opts), []byte(c.want))
			}
		})
	}
}

// Whatever is made of the objects: the stream is the same however it is cut
// into requests, blocks and reads.
func TestStreamDoesNotDependOnHowItIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		client := &ram{objects: map[string][]byte{}}
		opts := Options{
			Gzip:        rapid.Bool().Draw(t, "gzip"),
			RecordIO:    rapid.Bool().Draw(t, "records"),
			Lines:       rapid.Bool().Draw(t, "lines"),
			MaxRecord:   rapid.IntRange(0, 20).Draw(t, "longest part"),
			ReadAhead:   rapid.Int64Range(1, 400).Draw(t, "read ahead"),
			PartSize:    rapid.Int64Range(0, 50).Draw(t, "part size"),
			Concurrency: rapid.IntRange(1, 5).Draw(t, "concurrency"),
		}
		var keys []string
		var bodies [][]byte
		for i := range rapid.IntRange(0, 8).Draw(t, "objects") {
			keys = append(keys, fmt.Sprint(i))
			body := []byte(rapid.StringOfN(rapid.RuneFrom([]rune("ab\n")), 0, 60, -1).Draw(t, "body"))
			bodies = append(bodies, body)
			if client.objects[keys[i]] = body; opts.Gzip {
				cut := rapid.IntRange(0, len(body)).Draw(t, "members")
				client.objects[keys[i]] = gzipped(body[:cut], body[cut:])
			}
		}
		want := bytes.Join(bodies, nil)
		switch {
		case opts.RecordIO:
			want = wrappedOracle(opts.MaxRecord, bodies...)
		case opts.Lines:
			want = joinLines(bodies)
		}
		size := client.sized
		if rapid.Bool().Draw(t, "not listed") {
			size = unsized
		}
		source := NewSource(client, client.list(size, keys...), opts)
		requireEveryWay(t, source, want)

		stream, err := source.Open(context.Background(), 0)
		require.NoError(t, err)
		defer stream.Close()
		require.NoError(t, iotest.TestReader(onlyReader{stream}, want))

		mixed, err := source.Open(context.Background(), 0) // Read a little, then WriteTo
		require.NoError(t, err)
		defer mixed.Close()
		head := make([]byte, rapid.IntRange(0, len(want)).Draw(t, "read before"))
		_, err = io.ReadFull(iotest.OneByteReader(mixed), head)
		require.NoError(t, err)
		var rest bytes.Buffer
		n, err := mixed.(io.WriterTo).WriteTo(&rest)
		require.NoError(t, err)
		require.EqualValues(t, rest.Len(), n)
		requireSame(t, want, append(head, rest.Bytes()...))
	})
}
