package fastfile_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/platform/fastfile"
	"github.com/algospec/algospec/platform/s3stream"
)

func TestPathsThatAreNoFilesAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		paths []string
		want  string
	}{
		"an empty path":                      {[]string{""}, `as the file "": an element of the path is empty`},
		"two slashes in a row":               {[]string{"a//b"}, "is empty"},
		"a slash in front":                   {[]string{"/a"}, "is empty"},
		"a dot":                              {[]string{"a/./b"}, "a dot or two"},
		"two dots":                           {[]string{"../etc/passwd"}, "a dot or two"},
		"a NUL":                              {[]string{"a\x00b"}, "NUL"},
		"a name that is too long":            {[]string{"a/" + strings.Repeat("x", 256)}, "longer than 255 bytes"},
		"the same path twice":                {[]string{"a/b", "a/b"}, "two objects have this path"},
		"a directory, then a file":           {[]string{"a/b", "a"}, "both a file and a directory"},
		"a file, then a directory":           {[]string{"a", "a/b"}, "both a file and a directory"},
		"a file, then a directory deeper in": {[]string{"x/a", "x/a/b/c/d"}, "both a file and a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			var files []s3stream.File
			for _, path := range test.paths {
				files = append(files, s3stream.File{Path: path, Object: s3stream.Object{Bucket: "data", Key: "k"}})
			}
			_, err := fastfile.New(t.Context(), nil, files, fastfile.Options{})
			require.ErrorContains(t, err, test.want)
			require.ErrorContains(t, err, "s3://data/k as the file")
			blamed, is := errors.AsType[interface {
				error
				ClientError() bool
			}](err)
			require.True(t, is && blamed.ClientError())
		})
	}
}

func TestALongestNameIsAFile(t *testing.T) {
	w := newWorld(t)
	name := strings.Repeat("x", 255)
	w.put(t, name, 10)
	content, err := w.open(t, fastfile.Options{}).ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, w.bytes[name], content)
}
