package s3stream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/algospec/algospec/platform/s3test"
)

// itemTexts writes items down: s3://bucket/key (size) for an object, =text for a text.
func itemTexts(items []Item) (texts []string) {
	for _, item := range items {
		if o := item.Object; o != nil {
			texts = append(texts, fmt.Sprintf("s3://%s/%s (%d)", o.Bucket, o.Key, o.Size))
		} else {
			texts = append(texts, "="+string(item.Text))
		}
	}
	return texts
}

func unitTexts(t require.TestingT, a *Augmented) (units [][]string) {
	for i := range a.Len() {
		items, err := a.AppendUnit(nil, i)
		require.NoError(t, err)
		units = append(units, itemTexts(items))
	}
	return units
}

func TestP12AttributesBecomeItemsInTheChosenOrder(t *testing.T) {
	const refs = `{"b-ref": "s3://data/b", "n": 1, "a-ref": "s3://other/a/b", "s": "x"}`
	for _, c := range []struct {
		name, text string
		attributes []string
		want       [][]string
	}{
		{"one of several", refs, []string{"s"}, [][]string{{"=x"}}},
		{"in the chosen order", refs, []string{"n", "a-ref", "s", "b-ref"}, [][]string{{"=1", "s3://other/a/b (-1)", "=x", "s3://data/b (-1)"}}},
		{"two lines", refs + "\n" + `{"n":2,"s":"y"}`, []string{"n", "s"}, [][]string{{"=1", "=x"}, {"=2", "=y"}}},
		{"names differ in case", `{"N": 1, "n": 2}`, []string{"n", "N"}, [][]string{{"=2", "=1"}}},
		{"a name inside a value is none", `{"m": {"n": 1, "a\"": ["}", "n"]}, "n": 2}`, []string{"n"}, [][]string{{"=2"}}},
		{"names may be escaped", `{"\u006e": 2, "\"\\": 3}`, []string{"n", `"\`}, [][]string{{"=2", "=3"}}},
		{"names with dots and stars", `{"a.b": 1, "a*": 2, "a": {"b": 3}}`, []string{"a.b", "a*"}, [][]string{{"=1", "=2"}}},
		{"a name that is only -ref", `{"-ref": "s3://data/b"}`, []string{"-ref"}, [][]string{{"s3://data/b (-1)"}}},
		{"-REF is no reference", `{"a-REF": "s3://data/b"}`, []string{"a-REF"}, [][]string{{"=s3://data/b"}}},
		{"empty values", `{"s":"","l":[],"o":{ }}`, []string{"s", "l", "o"}, [][]string{{"=", "=[]", "={}"}}},
		{"literals", `{"t":true,"f":false,"n":null}`, []string{"t", "f", "n"}, [][]string{{"=true", "=false", "=null"}}},
		{"strings", `{"s":"a\"\\\/\n\u00fc\ud83d\ude00ü\u0000"}`, []string{"s"}, [][]string{{"=a\"\\/\nü😀ü\x00"}}},
		{"half a surrogate", `{"s":"\ud800x"}`, []string{"s"}, [][]string{{"=\ufffdx"}}},
		{"compact arrays", `{"l":[ 1.50 , [ ], "a  b" , {"b" : -0 , "a":1e3, "b":null} ]}`, []string{"l"}, [][]string{{`=[1.50,[],"a  b",{"b":-0,"a":1e3,"b":null}]`}}},
		{"no HTML escapes", `{"l":[ "<&>", "\u003c" ]}`, []string{"l"}, [][]string{{`=["<&>","\u003c"]`}}},
		{"unlisted attributes twice", `{"x":1,"x":"y","n":2}`, []string{"n"}, [][]string{{"=2"}}},
		{"references are no URLs", `{"a-ref":"s3://data/a%20+?#\u65e5//../x/"}`, []string{"a-ref"}, [][]string{{"s3://data/a%20+?#日//../x/ (-1)"}}},
		{"blank lines, CRLF, a mark, no last newline", "\ufeff\r\n\n{\"n\":1}\r\n \t \n\t{\"n\":2} \r\n\n{\"n\":3}", []string{"n"}, [][]string{{"=1"}, {"=2"}, {"=3"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := parseAugmented(t.Context(), "s3://data/m", []byte(c.text), c.attributes)
			require.NoError(t, err)
			require.Equal(t, c.want, unitTexts(t, a))
		})
	}
}

func TestP12NumbersStayAsTheyAreWritten(t *testing.T) {
	for _, number := range []string{
		"0", "-0", "1", "1.50", "1e3", "1E+3", "-1.0e-0", "0.10", "1e400", "5e-324", "9007199254740993",
		"123456789012345678901234567890", "0.30000000000000004", "1.0000000000000000000000001",
	} {
		for _, line := range []string{`{"n":%s}`, `{ "n" : %s }`, `{"n":%s,"m":1}`, "{\"n\"\t:\t%s\t,\"m\":1}"} {
			a, err := parseAugmented(t.Context(), "s3://data/m", fmt.Appendf(nil, line, number), []string{"n"})
			require.NoError(t, err)
			require.Equal(t, [][]string{{"=" + number}}, unitTexts(t, a))
		}
	}
}

func TestP12BrokenLinesAreNamed(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{"missing", `{"a-ref":"s3://b/c"}`, "attribute n: missing"},
		{"missing in the first", `{"n":1}`, "attribute a-ref: missing"},
		{"in other case", `{"A-ref":"s3://b/c","n":1}`, "attribute a-ref: missing"},
		{"deeper", `{"a-ref":"s3://b/c","m":{"n":1}}`, "attribute n: missing"},
		{"twice", `{"n":1,"a-ref":"s3://b/c","n":1}`, "attribute n: there twice"},
		{"twice, once escaped", `{"n":1,"a-ref":"s3://b/c","\u006e":1}`, "attribute n: there twice"},
		{"a number as reference", `{"n":1,"a-ref":1.50}`, "attribute a-ref: 1.50: not a string"},
		{"null as reference", `{"n":1,"a-ref":null}`, "attribute a-ref: null: not a string"},
		{"references", `{"n":1,"a-ref":["s3://b/c"]}`, `attribute a-ref: ["s3://b/c"]: not a string`},
		{"an empty reference", `{"n":1,"a-ref":""}`, `attribute a-ref: "": not of the form s3://bucket/key`},
		{"a relative reference", `{"n":1,"a-ref":"b/c"}`, `attribute a-ref: "b/c": not of the form s3://bucket/key`},
		{"a reference to the web", `{"n":1,"a-ref":"https://b/c"}`, `attribute a-ref: "https://b/c": not of the form s3://bucket/key`},
		{"a reference to a bucket", `{"n":1,"a-ref":"s3://b"}`, `attribute a-ref: "s3://b": not of the form s3://bucket/key`},
		{"a reference to no key", `{"n":1,"a-ref":"s3://b/"}`, `attribute a-ref: "s3://b/": not of the form s3://bucket/key`},
		{"a reference to no bucket", `{"n":1,"a-ref":"s3:///c"}`, `attribute a-ref: "s3:///c": not of the form s3://bucket/key`},
		{"a long reference", `{"n":1,"a-ref":"s3://b/` + strings.Repeat("x", 1025) + `"}`, `attribute a-ref: "s3://b/` + strings.Repeat("x", 192) + `: the key is longer than 1024 bytes`},
		{"an array", `[1]`, "not a JSON object"},
		{"a string", ` "{}"`, "not a JSON object"},
		{"a manifest", `[{"prefix": "s3://b/"}, "a"]`, "not a JSON object"},
		{"cut off", `{"n":1,`, "after 7 bytes: unexpected end of JSON input"},
		{"no JSON", `n,1`, "after 2 bytes: invalid character ',' in literal null (expecting 'u')"},
		{"two objects", `{"n":1} {"n":2}`, "after 9 bytes: invalid character '{' after top-level value"},
		{"a comma too many", `{"n":1,}`, "after 8 bytes: invalid character '}' looking for beginning of object key string"},
		{"a leading zero", `{"n":01}`, "after 7 bytes: invalid character '1' after object key:value pair"},
		{"NaN", `  {"n":NaN}`, "after 8 bytes: invalid character 'N' looking for beginning of value"},
		{"an old Macintosh", "{\"n\":1}\r{\"n\":2}", "after 9 bytes: invalid character '{' after top-level value"},
		{"Latin-1", "{\"n\":\"\xe9\"}", "not UTF-8"},
		{"Latin-1 in what is ignored", "{\"n\":1,\"\xe9\":1}", "not UTF-8"},
		{"a space that JSON does not know", "\u00a0", "after 1 bytes: invalid character 'Â' looking for beginning of value"},
		{"a mark in the middle", "\ufeff{}", "after 1 bytes: invalid character 'ï' looking for beginning of value"},
		{"too deep", strings.Repeat("[", 10_001), "after 10001 bytes: invalid character '[' exceeded max depth"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := "{\"n\":1,\"a-ref\":\"s3://b/c\"}\r\n\n" + c.line + "\n{\"n\":1}"
			_, err := parseAugmented(t.Context(), "s3://data/m", []byte(text), []string{"a-ref", "n"})
			require.EqualError(t, err, "manifest s3://data/m: line 3: "+c.want)
			failed, is := errors.AsType[*ManifestError](err)
			require.True(t, is)
			require.Equal(t, 3, failed.Line)
			require.Equal(t, strings.HasPrefix(c.want, "attribute "), failed.Attribute != "")
			require.True(t, failed.ClientError())
		})
	}
}

func TestP12ChoicesOfAttributes(t *testing.T) {
	var many []string
	for i := range 17 {
		many = append(many, fmt.Sprint("a", i))
	}
	long := strings.Repeat("ü", 256)
	server := manifestServer(t, map[string]string{
		"long": `{"` + long + `": 1}`,
		"wide": `{"` + strings.Join(many, `": 1, "`) + `": 1}`,
	})
	for _, c := range []struct {
		name, key, want string
		attributes      []string
	}{
		{"none", "wide", "0 attributes chosen, not 1 to 16", nil},
		{"too many", "wide", "17 attributes chosen, not 1 to 16", many},
		{"as many as there may be", "wide", "", many[1:]},
		{"no name", "wide", "a name of 0 characters, not 1 to 256", []string{"a1", ""}},
		{"a long name", "long", "", []string{long}},
		{"a name that is too long", "long", "attribute " + long + ": a name of 257 characters, not 1 to 256", []string{long + "x"}},
		{"the same twice", "wide", "attribute a1: chosen twice", []string{"a1", "a2", "a1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			uri := "s3://data/" + c.key
			a, err := ReadAugmented(t.Context(), server.Client(), uri, c.attributes)
			if c.want != "" {
				require.EqualError(t, err, "manifest "+uri+": "+c.want)
				return
			}
			require.NoError(t, err)
			items, err := a.AppendUnit(nil, 0)
			require.NoError(t, err)
			require.Len(t, items, len(c.attributes))
		})
	}
}

func TestItemsStayValid(t *testing.T) {
	text := []byte("{\"s\":\"a\",\"n\":1,\"l\":[1]}\n{\"s\":\"b\\n\",\"n\":2,\"l\":[2, 2]}")
	attributes := []string{"s", "n", "l"}
	a, err := parseAugmented(t.Context(), "s3://data/m", text, attributes)
	require.NoError(t, err)
	attributes[0] = "changed by its owner"
	items, err := a.AppendUnit([]Item{{Text: []byte("first")}}, 0)
	require.NoError(t, err)
	items, err = a.AppendUnit(items, 1)
	require.NoError(t, err)
	for _, item := range items {
		_ = append(item.Text, "overwrites nothing"...)
	}
	require.Equal(t, []string{"=first", "=a", "=1", "=[1]", "=b\n", "=2", "=[2,2]"}, itemTexts(items))
	require.Equal(t, [][]string{{"=a", "=1", "=[1]"}, {"=b\n", "=2", "=[2,2]"}}, unitTexts(t, a))
}

func TestShardsCoverEveryLineOnce(t *testing.T) {
	var text strings.Builder
	const lines = 23
	for i := range lines {
		fmt.Fprintf(&text, "{\"n\":%d}\n\n", i)
	}
	a, err := parseAugmented(t.Context(), "s3://data/m", []byte(text.String()), []string{"n"})
	require.NoError(t, err)
	for _, hosts := range []int{1, 2, 5, lines, 40} {
		for _, contiguous := range []bool{false, true} {
			seen := map[string]int{}
			for host := range hosts {
				for unit := range (Shard{host, hosts, contiguous}).Of(a.Len()) {
					items, err := a.AppendUnit(nil, unit)
					require.NoError(t, err)
					require.Equal(t, fmt.Sprint("=", unit), itemTexts(items)[0])
					seen[itemTexts(items)[0]]++
				}
			}
			require.Len(t, seen, lines)
			for text, times := range seen {
				require.Equal(t, 1, times, text)
			}
		}
	}
}

// The file was written by hand after the examples in Ground Truth's documentation.
func TestReadAugmentedOfGroundTruth(t *testing.T) {
	text, err := os.ReadFile("testdata/groundtruth-image-classification.manifest")
	require.NoError(t, err)
	server := manifestServer(t, map[string]string{"m": string(text)})
	var listing Listing
	listing, err = ReadAugmented(t.Context(), server.Client(), "s3://data/m", []string{"source-ref", "species", "species-metadata"})
	require.NoError(t, err)
	require.Equal(t, 2, listing.Len())
	items, err := listing.AppendUnit(nil, 0)
	require.NoError(t, err)
	require.Equal(t, []string{"s3://data/images/rose 1.jpg (-1)", "=0",
		`={"class-name":"rose","job-name":"verify-labeling-job/species","type":"groundtruth/image-classification",` +
			`"human-annotated":"yes","creation-date":"2018-10-18T22:18:13.527256","confidence":0.95}`}, itemTexts(items))
	items, err = listing.AppendUnit(nil, 1)
	require.NoError(t, err)
	require.Equal(t, []string{"s3://other/images/t%C3%BClip.jpg (-1)", "=1", `={"confidence":1.0,"class-name":"t\u00fclip"}`}, itemTexts(items))
}

func TestReadAugmentedFailures(t *testing.T) {
	server := manifestServer(t, map[string]string{"empty": "", "blank": "\ufeff\n \r\n", "broken": "{\"n\":1}\n{", "m": `{"n":1}`})
	for uri, want := range map[string]string{
		"s3://data/empty":  "no objects",
		"s3://data/blank":  "no objects",
		"s3://data/broken": "line 2: after 1 bytes: unexpected end of JSON input",
		"s3://data/none":   "no such object",
		"s3://nobucket/m":  "no such object",
		"s3://data/":       "not of the form s3://bucket/key",
	} {
		_, err := ReadAugmented(t.Context(), server.Client(), uri, []string{"n"})
		require.EqualError(t, err, "manifest "+uri+": "+want)
	}
	server.SetFault(func(r *http.Request) *s3test.Fault { return &s3test.Fault{Status: 500, Code: "InternalError"} })
	_, err := ReadAugmented(t.Context(), server.Client(oneTry), "s3://data/m", []string{"n"})
	failed, is := errors.AsType[*ObjectError](err)
	require.True(t, is && !failed.ClientError())

	cause := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	server.SetFault(func(r *http.Request) *s3test.Fault {
		if r.Method == http.MethodGet {
			cancel(cause)
			return &s3test.Fault{Stall: true}
		}
		return nil
	})
	_, err = ReadAugmented(ctx, server.Client(), "s3://data/m", []string{"n"})
	require.Equal(t, cause, err)
	_, err = parseAugmented(ctx, "s3://data/m", []byte(`{"n":1}`), []string{"n"})
	require.Equal(t, cause, err)
}

// jsonSource draws JSON as people write it: with space, escapes and odd
// numbers, nested no deeper than it is told.
func jsonSource(depth int) *rapid.Generator[string] {
	kinds := []*rapid.Generator[string]{jsonString, jsonNumber, rapid.SampledFrom([]string{"true", "false", "null"})}
	if depth > 0 {
		kinds = append(kinds, jsonContainer("[]", jsonSource(depth-1)), jsonContainer("{}", rapid.Custom(func(t *rapid.T) string {
			return jsonString.Draw(t, "name") + jsonSpaces.Draw(t, "space") + ":" + jsonSource(depth-1).Draw(t, "value")
		})))
	}
	return rapid.OneOf(kinds...)
}

func jsonContainer(brackets string, element *rapid.Generator[string]) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		elements := rapid.SliceOfN(element, 0, 4).Draw(t, "elements")
		for i := range elements {
			elements[i] = jsonSpaces.Draw(t, "before") + elements[i] + jsonSpaces.Draw(t, "after")
		}
		return brackets[:1] + strings.Join(elements, ",") + jsonSpaces.Draw(t, "inside") + brackets[1:]
	})
}

var (
	jsonSpaces = rapid.StringMatching(`[ \t\r]{0,2}`)
	jsonNumber = rapid.StringMatching(`-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?`)
	jsonString = rapid.OneOf(
		rapid.Map(rapid.String(), func(s string) string { b, _ := json.Marshal(s); return string(b) }),
		rapid.StringMatching(`"([ -!#-\[\]-~ü日]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4}|\\ud83d\\ude00)*"`),
	)
)

func TestItemsAreTheSameJSONValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-eü."\\ ]{1,3}`), 1, 16, rapid.ID[string]).Draw(t, "names")
		var members, values []string
		for _, name := range names {
			quoted, _ := json.Marshal(name)
			values = append(values, jsonSource(3).Draw(t, "value"))
			members = append(members, string(quoted)+" :\t"+values[len(values)-1])
		}
		members = append(members, `"ignored" : `+jsonSource(3).Draw(t, "ignored"))
		line := "{" + strings.Join(rapid.Permutation(members).Draw(t, "members"), " ,") + " }"

		a, err := parseAugmented(context.Background(), "s3://data/m", []byte(line+"\n\n"+line), names)
		require.NoError(t, err, line)
		require.Equal(t, 2, a.Len())
		items, err := a.AppendUnit(nil, 1)
		require.NoError(t, err)
		for i, item := range items {
			requireSameJSON(t, values[i], item)
		}
	})
}

// requireSameJSON requires an item to stand for a value, as encoding/json
// understands it.
func requireSameJSON(t require.TestingT, value string, item Item) {
	require.Nil(t, item.Object)
	switch want := decodeJSON(t, value).(type) {
	case string:
		require.Equal(t, want, string(item.Text))
	case json.Number:
		require.Equal(t, string(want), string(item.Text))
	default:
		require.Equal(t, want, decodeJSON(t, string(item.Text)))
		var compacted bytes.Buffer
		require.NoError(t, json.Compact(&compacted, []byte(value)))
		require.Equal(t, compacted.String(), string(item.Text))
	}
}

func decodeJSON(t require.TestingT, text string) (value any) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&value))
	return value
}

// BenchmarkAugmented parses, and then delivers, 100,000 lines as Ground Truth
// writes them, of which two attributes are used.
func BenchmarkAugmented(b *testing.B) {
	var text bytes.Buffer
	for i := range 100_000 {
		fmt.Fprintf(&text, `{"source-ref": "s3://some-bucket/train/images/%08d.jpg", "class": %d, "class-metadata": `+
			`{"confidence": 0.9%d, "job-name": "labeling-job/flowers", "class-name": "rose", "human-annotated": "yes", `+
			`"creation-date": "2018-10-18T22:18:13.527256", "type": "groundtruth/image-classification"}}`+"\n", i, i%10, i)
	}
	attributes := []string{"source-ref", "class"}
	b.Run("parse", func(b *testing.B) {
		b.SetBytes(int64(text.Len()))
		b.ReportAllocs()
		for b.Loop() {
			_, err := parseAugmented(b.Context(), "s3://data/m", text.Bytes(), attributes)
			require.NoError(b, err)
		}
	})
	b.Run("deliver", func(b *testing.B) {
		a, err := parseAugmented(b.Context(), "s3://data/m", text.Bytes(), attributes)
		require.NoError(b, err)
		b.SetBytes(int64(text.Len()))
		b.ReportAllocs()
		var items []Item
		for b.Loop() {
			for i := range a.Len() {
				items, err = a.AppendUnit(items[:0], i)
				require.NoError(b, err)
			}
		}
	})
}
