package s3stream

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// requireMemory requires f to allocate a bounded number of bytes per byte of input.
func requireMemory(t *testing.T, input, perByte int, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	require.LessOrEqual(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<10+perByte*input))
}

func requireManifestError(t *testing.T, err error) {
	t.Helper()
	failed, is := errors.AsType[*ManifestError](err)
	require.True(t, is, "%v", err)
	require.Equal(t, "s3://data/m", failed.URI)
}

func addFiles(f *testing.F, add func(text []byte)) {
	names, err := filepath.Glob("testdata/*manifest*")
	require.NoError(f, err)
	require.NotEmpty(f, names)
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(f, err)
		add(text)
	}
}

// What FuzzManifest accepts, encoding/json understands in the same way.
func FuzzManifest(f *testing.F) {
	addFiles(f, func(text []byte) { f.Add(text) })
	f.Fuzz(func(t *testing.T, text []byte) {
		var p *manifestParser
		var err error
		requireMemory(t, len(text), 1500, func() { p, err = parseManifest("s3://data/m", bytes.NewReader(text)) }) // a key is 1024
		if err != nil {
			requireManifestError(t, err)
			return
		}
		var entries []any
		require.NoError(t, json.Unmarshal(bytes.TrimPrefix(text, []byte(byteOrderMark)), &entries))
		require.Equal(t, entries[0].(map[string]any)["prefix"], p.manifest.Prefix)
		require.Len(t, p.manifest.Objects, len(entries)-1)
		for i, o := range p.manifest.Objects {
			require.Equal(t, p.manifest.Prefix+entries[i+1].(string), "s3://"+o.Bucket+"/"+o.Key)
			first := p.first[o.Key]
			require.True(t, first <= i && p.manifest.Objects[first].Key == o.Key)
		}
	})
}

// What FuzzAugmented accepts, encoding/json understands in the same way.
func FuzzAugmented(f *testing.F) {
	addFiles(f, func(text []byte) {
		for _, names := range []string{"source-ref", "x", "source-ref,x", "species-metadata,source-ref", "source-ref,n,text,l,t,f,z,e"} {
			f.Add(text, names)
		}
	})
	f.Fuzz(func(t *testing.T, text []byte, names string) {
		attributes := strings.Split(names, ",")
		if err := checkAttributes("s3://data/m", attributes); err != nil {
			requireManifestError(t, err)
			return
		}
		var a *Augmented
		var err error
		requireMemory(t, len(text)+len(names), 64, func() { a, err = parseAugmented(t.Context(), "s3://data/m", text, attributes) })
		if err != nil {
			requireManifestError(t, err)
			return
		}
		unit := 0
		for _, line := range strings.Split(strings.TrimPrefix(string(text), byteOrderMark), "\n") {
			if strings.Trim(line, " \t\r") == "" {
				continue
			}
			var members map[string]json.RawMessage
			require.NoError(t, json.Unmarshal([]byte(line), &members))
			items, err := a.AppendUnit(nil, unit)
			require.NoError(t, err)
			require.Len(t, items, len(attributes))
			for i, name := range attributes {
				if o := items[i].Object; strings.HasSuffix(name, "-ref") {
					require.Equal(t, decodeJSON(t, string(members[name])), "s3://"+o.Bucket+"/"+o.Key)
				} else {
					requireSameJSON(t, string(members[name]), items[i])
				}
			}
			unit++
		}
		require.Equal(t, a.Len(), unit)
	})
}
