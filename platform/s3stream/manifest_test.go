package s3stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/platform/s3test"
)

// manifestServer serves objects of one bucket, data, by their keys.
func manifestServer(t testing.TB, objects map[string]string) *s3test.Server {
	t.Helper()
	server := s3test.New()
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	require.NoError(t, server.CreateBucket("data"))
	for key, body := range objects {
		require.NoError(t, server.Put("data", key, strings.NewReader(body)))
	}
	return server
}

// oneTry has the SDK not repeat requests.
func oneTry(o *s3.Options) { o.Retryer = aws.NopRetryer{} }

func TestManifestsAreConcatenatedAsTheyStand(t *testing.T) {
	for _, c := range []struct {
		name, text, prefix string
		keys               []string
	}{
		{"a folder", `[{"prefix": "s3://data/some/"}, "b", "a/c"]`, "s3://data/some/", []string{"some/b", "some/a/c"}},
		{"no slash is put in", `[{"prefix": "s3://data/some"}, "b", "/c"]`, "s3://data/some", []string{"someb", "some/c"}},
		{"the bucket alone", `[{"prefix": "s3://data/"}, "b", "/c"]`, "s3://data/", []string{"b", "/c"}},
		{"duplicates stay", `[{"prefix": "s3://data/"}, "b", "a", "b"]`, "s3://data/", []string{"b", "a", "b"}},
		{"keys are no paths", `[{"prefix": "s3://data/x/"}, "../y", ".", "a//b"]`, "s3://data/x/", []string{"x/../y", "x/.", "x/a//b"}},
		{"escapes", `[{"prefix": "s3:\/\/data\/"}, "\u65e5\n\"", "日"]`, "s3://data/", []string{"日\n\"", "日"}},
		{"escaped member name", `[{"\u0070refix": "s3://data/"}, "a"]`, "s3://data/", []string{"a"}},
		{"percent and plus are themselves", `[{"prefix": "s3://data/a b/"}, "%20+"]`, "s3://data/a b/", []string{"a b/%20+"}},
		{"other members beside the prefix", `[{"note": [1, {}], "prefix": "s3://data/"}, "a"]`, "s3://data/", []string{"a"}},
		{"byte-order mark, CRLF", "\xef\xbb\xbf[{\"prefix\": \"s3://data/\"},\r\n\"a\"\r\n]\r\n", "s3://data/", []string{"a"}},
		{"the longest key", `[{"prefix": "s3://data/12345678/"}, "` + strings.Repeat("x", 1015) + `"]`, "s3://data/12345678/", []string{"12345678/" + strings.Repeat("x", 1015)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, r := range map[string]io.Reader{
				"whole":      strings.NewReader(c.text),
				"by bytes":   iotest.OneByteReader(strings.NewReader(c.text)),
				"by halves":  iotest.HalfReader(strings.NewReader(c.text)),
				"early EOF":  iotest.DataErrReader(strings.NewReader(c.text)),
				"both of it": iotest.DataErrReader(iotest.OneByteReader(strings.NewReader(c.text))),
			} {
				p, err := parseManifest("s3://data/m", r)
				require.NoError(t, err, name)
				require.Equal(t, c.prefix, p.manifest.Prefix, name)
				var keys []string
				for _, o := range p.manifest.Objects {
					require.Equal(t, "data", o.Bucket)
					keys = append(keys, o.Key)
				}
				require.Equal(t, c.keys, keys, name)
			}
		})
	}
}

func TestBrokenManifestsNameTheEntry(t *testing.T) {
	const good = `[{"prefix": "s3://data/"}, "a", `
	for _, c := range []struct{ name, text, want string }{
		{"nothing", ``, "at byte 0: unexpected EOF"},
		{"space", "  \n", "at byte 0: unexpected EOF"},
		{"cut in the bracket", `[`, "at byte 1: unexpected EOF"},
		{"cut in the prefix", `[{"prefix": "s3`, "at byte 1: unexpected EOF"},
		{"cut after the prefix", `[{"prefix": "s3://data/"}`, "at byte 25: unexpected EOF"},
		{"cut after a comma", good, "entry 2: at byte 31: unexpected EOF"},
		{"cut in an entry", good + `"b`, "entry 2: at byte 31: unexpected EOF"},
		{"cut after an entry", good + `"b"`, "at byte 35: unexpected EOF"},
		{"no JSON", `prefix,a`, "at byte 0: invalid character 'p' looking for beginning of value"},
		{"UTF-16", "\xff\xfe[\x00", "at byte 0: invalid character 'ÿ' looking for beginning of value"},
		{"an object", `{"prefix": "s3://data/"}`, "not a JSON array"},
		{"a string", `"s3://data/"`, "not a JSON array"},
		{"JSON Lines", "{\"source-ref\": \"s3://data/a\"}\n{}", "not a JSON array"},
		{"an empty array", `[]`, `does not begin with {"prefix": "s3://bucket/some/"}`},
		{"no prefix", `["a", "b"]`, `does not begin with {"prefix": "s3://bucket/some/"}`},
		{"null first", `[null, "b"]`, `does not begin with {"prefix": "s3://bucket/some/"}`},
		{"another member", `[{"Prefix": "s3://data/"}, "b"]`, `does not begin with {"prefix": "s3://bucket/some/"}`},
		{"a prefix that is no string", `[{"prefix": 7}, "b"]`, `does not begin with {"prefix": "s3://bucket/some/"}`},
		{"a null prefix", `[{"prefix": null}, "b"]`, `does not begin with {"prefix": "s3://bucket/some/"}`},
		{"an empty prefix", `[{"prefix": ""}, "b"]`, `prefix "": not of the form s3://bucket/prefix`},
		{"a prefix without bucket", `[{"prefix": "s3:///a/"}, "b"]`, `prefix "s3:///a/": not of the form s3://bucket/prefix`},
		{"a prefix of the web", `[{"prefix": "https://data/a/"}, "b"]`, `prefix "https://data/a/": not of the form s3://bucket/prefix`},
		{"a prefix that is a bucket", `[{"prefix": "s3://data"}, "b"]`, `prefix "s3://data": no slash after the bucket`},
		{"a prefix that is too long", `[{"prefix": "s3://data/` + strings.Repeat("x", 1025) + `"}, "b"]`, `prefix "s3://data/` + strings.Repeat("x", 190) + `": the key is longer than 1024 bytes`},
		{"the prefix alone", `[{"prefix": "s3://data/"}]`, "no objects"},
		{"an empty entry", good + `""]`, `entry 2: "": empty`},
		{"a URI", good + `"s3://data/b"]`, `entry 2: "s3://data/b": a whole URI, not what comes after the prefix`},
		{"an escaped URI", good + `"s3:\/\/data/b"]`, `entry 2: "s3:\/\/data/b": a whole URI, not what comes after the prefix`},
		{"a number", good + `1.50]`, `entry 2: 1.50: not a string`},
		{"null", good + `null]`, `entry 2: null: not a string`},
		{"another prefix", good + `{"prefix": "s3://b/"}]`, `entry 2: {"prefix": "s3://b/"}: not a string`},
		{"a long entry", good + `[` + strings.Repeat("0,", 200) + `0]]`, `entry 2: [` + strings.Repeat("0,", 99) + `0: not a string`},
		{"a key that is too long", good + `"` + strings.Repeat("x", 1025) + `"]`, `entry 2: "` + strings.Repeat("x", 199) + `: the key is longer than 1024 bytes`},
		{"Latin-1", good + "\"\xe9\"]", `entry 2: not UTF-8`},
		{"Latin-1 in the prefix", "[{\"prefix\": \"s3://data/\xe9\"}, \"a\"]", `not UTF-8`},
		{"a trailing comma", good + `]`, "entry 2: at byte 31: invalid character ']' looking for beginning of value"},
		{"a missing comma", `[{"prefix": "s3://data/"}, "a" "b"]`, "entry 2: at byte 31: expected comma after array element"},
		{"a raw newline", good + "\"b\n\"]", `entry 2: at byte 31: invalid character '\n' in string literal`},
		{"two arrays", good + `"b"] []`, "at byte 36: more after the array"},
		{"text at the end", good + `"b"]x`, "at byte 36: more after the array"},
		{"half a string at the end", good + `"b"]"`, "at byte 36: more after the array"},
		{"the offset counts the mark", byteOrderMark + good + `"b"]x`, "at byte 39: more after the array"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parseManifest("s3://data/m", strings.NewReader(c.text))
			require.EqualError(t, err, "manifest s3://data/m: "+c.want)
			failed, is := errors.AsType[*ManifestError](err)
			require.True(t, is)
			require.True(t, failed.ClientError())
			require.Equal(t, strings.HasSuffix(c.want, "unexpected EOF"), errors.Is(err, io.ErrUnexpectedEOF))
			require.Equal(t, strings.HasSuffix(c.want, "no objects"), errors.Is(err, ErrNoObjects))
		})
	}
}

func TestAReaderThatFailsIsNoBrokenManifest(t *testing.T) {
	const text = `[{"prefix": "s3://data/"}, "a"] `
	for n := range len(text) {
		_, err := parseManifest("s3://data/m", io.MultiReader(strings.NewReader(text[:n]), iotest.ErrReader(iotest.ErrTimeout)))
		require.Equal(t, iotest.ErrTimeout, err, n)
	}
}

func TestReadManifestFindsTheSizes(t *testing.T) {
	server := manifestServer(t, map[string]string{
		"m":       `[{"prefix": "s3://data/some/"}, "b", "mark/", "../日 +%", "b", "empty"]`,
		"some/b":  "12345",
		"some/..": "", "some/../日 +%": "1",
		"some/mark/": "", "some/empty": "",
	})
	var heads atomic.Int64
	server.SetFault(func(r *http.Request) *s3test.Fault {
		if r.Method == http.MethodHead {
			heads.Add(1)
		}
		return nil
	})
	m, err := ReadManifest(t.Context(), server.Client(), "s3://data/m")
	require.NoError(t, err)
	require.Equal(t, "s3://data/some/", m.Prefix)
	require.EqualValues(t, 1+4, heads.Load(), "the manifest's, and one per distinct key")

	listed, err := List(t.Context(), server.Client(), "s3://data/some/")
	require.NoError(t, err)
	byKey := map[string]Object{}
	for _, o := range listed {
		byKey[o.Key] = o
	}
	var want Objects
	for _, key := range []string{"some/b", "some/../日 +%", "some/b", "some/empty"} {
		want = append(want, byKey[key])
	}
	for i, o := range m.Objects {
		require.True(t, want[i].LastModified.Equal(o.LastModified))
		want[i].LastModified = o.LastModified // not the same location
	}
	require.Equal(t, want, m.Objects, "as a listing has them")
}

func TestReadManifestOfThePythonSDK(t *testing.T) {
	const folder = "sagemaker/KMeans-2026-01-01-00-00-00-000/"
	text, err := os.ReadFile("testdata/sdk-12-shards.amazon.manifest")
	require.NoError(t, err)
	objects := map[string]string{folder + ".amazon.manifest": string(text)}
	var want []string
	for i := range 12 {
		want = append(want, fmt.Sprintf("%smatrix_%02d.pbr", folder, i))
		objects[want[i]] = strings.Repeat("x", i)
	}
	server := manifestServer(t, objects)
	m, err := ReadManifest(t.Context(), server.Client(), "s3://data/"+folder+".amazon.manifest")
	require.NoError(t, err)
	require.Equal(t, "s3://data/"+folder, m.Prefix)
	require.EqualValues(t, 11*12/2, m.Objects.Size())
	for i, o := range (Shard{Index: 1, Count: 5}).Objects(m.Objects) {
		require.Equal(t, want[1+5*i], o.Key)
	}
}

func TestReadManifestGoesOnAfterABrokenConnection(t *testing.T) {
	var text strings.Builder
	text.WriteString(`[{"prefix": "s3://data/a"}`)
	for range 100_000 {
		text.WriteString(`, "/b"`)
	}
	text.WriteString(`]`)
	server := manifestServer(t, map[string]string{"m": text.String(), "a/b": "1"})
	var cuts atomic.Int64
	server.SetFault(func(r *http.Request) *s3test.Fault {
		if r.Method == http.MethodGet && cuts.Add(1) == 1 {
			return &s3test.Fault{At: 300_001, Cut: true}
		}
		return nil
	})
	m, err := ReadManifest(t.Context(), server.Client(), "s3://data/m")
	require.NoError(t, err)
	require.Len(t, m.Objects, 100_000)
	require.EqualValues(t, 100_000, m.Objects.Size())
	require.EqualValues(t, 2, cuts.Load())
}

func TestReadManifestFailures(t *testing.T) {
	server := manifestServer(t, map[string]string{
		"missing": `[{"prefix": "s3://data/some/"}, "a", "b"]`, "some/a": "1",
		"markers": `[{"prefix": "s3://data/"}, "mark/"]`, "mark/": "",
		"elsewhere": `[{"prefix": "s3://nobucket/"}, "a"]`,
		"empty":     "",
	})
	for uri, want := range map[string]string{
		"s3://data/missing":                      "entry 2: s3://data/some/b: no such object",
		"s3://data/elsewhere":                    "entry 1: s3://nobucket/a: no such object",
		"s3://data/markers":                      "no objects",
		"s3://data/none":                         "no such object",
		"s3://data/empty":                        "at byte 0: unexpected EOF",
		"s3://data/":                             "not of the form s3://bucket/key",
		"s3://data":                              "not of the form s3://bucket/key",
		"/tmp/m":                                 "not of the form s3://bucket/key",
		"s3://data/" + strings.Repeat("x", 1025): "the key is longer than 1024 bytes",
	} {
		_, err := ReadManifest(t.Context(), server.Client(), uri)
		require.EqualError(t, err, "manifest "+uri+": "+want)
		require.Equal(t, strings.HasSuffix(want, "no such object"), errors.Is(err, ErrNotFound))
		failed, is := errors.AsType[*ManifestError](err)
		require.True(t, is && failed.ClientError(), uri)
	}

	cause := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	_, err := ReadManifest(ctx, server.Client(), "s3://data/missing")
	require.Equal(t, cause, err)
}

func TestReadManifestIsRefusedOrS3Fails(t *testing.T) {
	server := manifestServer(t, map[string]string{"m": `[{"prefix": "s3://data/some/"}, "a", "b"]`, "some/a": "1", "some/b": "1"})
	for _, c := range []struct {
		path   string
		status int
		client bool
	}{
		{"/data/m", 403, true}, {"/data/m", 500, false}, {"/data/some/b", 403, true}, {"/data/some/b", 503, false},
	} {
		server.SetFault(func(r *http.Request) *s3test.Fault {
			if r.URL.Path == c.path && r.Method == http.MethodHead {
				return &s3test.Fault{Status: c.status, Code: "Fault"}
			}
			return nil
		})
		_, err := ReadManifest(t.Context(), server.Client(oneTry), "s3://data/m")
		failed, is := errors.AsType[*ObjectError](err)
		require.True(t, is, err)
		require.Equal(t, c.path, "/"+failed.Bucket+"/"+failed.Key)
		require.Equal(t, c.client, failed.ClientError())
	}
}

func TestReadManifestEndsWithItsContext(t *testing.T) {
	server := manifestServer(t, map[string]string{"m": `[{"prefix": "s3://data/some/"}, "a", "b"]`, "some/a": "1", "some/b": "1"})
	cause := errors.New("stopped")
	for _, path := range []string{"GET /data/m", "HEAD /data/some/b"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		server.SetFault(func(r *http.Request) *s3test.Fault {
			if r.Method+" "+r.URL.Path == path {
				cancel(cause)
				return &s3test.Fault{Stall: true}
			}
			return nil
		})
		_, err := ReadManifest(ctx, server.Client(), "s3://data/m")
		require.Equal(t, cause, err, path)
	}
}

// A largeObject answers that an object is as large as it says.
type largeObject int64

func (l largeObject) HeadObject(context.Context, *s3.HeadObjectInput, ...func(*s3.Options)) (*s3.HeadObjectOutput, error) {
	return &s3.HeadObjectOutput{ContentLength: aws.Int64(int64(l))}, nil
}

func (largeObject) GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error) {
	panic("asked for the bytes")
}

func (largeObject) ListObjectsV2(context.Context, *s3.ListObjectsV2Input, ...func(*s3.Options)) (*s3.ListObjectsV2Output, error) {
	panic("asked for a list")
}

func TestDataIsNotReadAsAManifest(t *testing.T) {
	const want = "manifest s3://data/m: 1073741825 bytes; a manifest has 1073741824 at most"
	_, err := ReadManifest(t.Context(), largeObject(1<<30+1), "s3://data/m")
	require.EqualError(t, err, want)
	_, err = ReadAugmented(t.Context(), largeObject(1<<30+1), "s3://data/m", []string{"a"})
	require.EqualError(t, err, want)
}

// BenchmarkManifest parses 100,000 entries.
func BenchmarkManifest(b *testing.B) {
	var text strings.Builder
	text.WriteString(`[{"prefix": "s3://data/some/"}`)
	for i := range 100_000 {
		fmt.Fprintf(&text, ", \"images/%08d.jpg\"", i)
	}
	text.WriteString(`]`)
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		_, err := parseManifest("s3://data/m", strings.NewReader(text.String()))
		require.NoError(b, err)
	}
}
