package channel_test

import (
	"errors"
	"fmt"
	"mime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/channel"
)

func TestContentTypesAreTakenApart(t *testing.T) {
	type params = map[string]string
	for text, want := range map[string]struct {
		mediaType string
		params
	}{
		"text/csv":                                {"text/csv", params{}},
		"text/csv;label_size=0":                   {"text/csv", params{"label_size": "0"}},
		"text/csv; label_size = 0":                {"text/csv", params{"label_size": "0"}},
		" Text/CSV ;\tLabel_Size=1 ;delim=\"|\" ": {"text/csv", params{"label_size": "1", "delim": "|"}},
		"text/csv;":                               {"text/csv", params{}},
		"text/csv; a=1; A=1":                      {"text/csv", params{"a": "1"}},
		"text/csv;;a=B;":                          {"text/csv", params{"a": "B"}},
		"application/x-recordio-protobuf":         {"application/x-recordio-protobuf", params{}},
		`a/b; q = "x;y=\"z\" \\ é"; r=""`:         {"a/b", params{"q": `x;y="z" \ é`, "r": ""}},
	} {
		mediaType, params, err := channel.ParseContentType(text)
		require.NoError(t, err, text)
		require.Equal(t, want.mediaType, mediaType, text)
		require.Equal(t, want.params, params, text)
	}
}

func TestBadContentTypesAreTheJobsFault(t *testing.T) {
	for text, want := range map[string]string{
		"":                         `content type "": no media type`,
		" ; a=b":                   `content type " ; a=b": no media type`,
		"csv":                      `content type "csv": no subtype after csv`,
		"text/":                    `content type "text/": no subtype after text/`,
		"text /csv":                `content type "text /csv": no subtype after text`,
		"text/csv label_size=0":    `content type "text/csv label_size=0": "label_size=0" where a ; should be`,
		"text/csv, text/plain":     `content type "text/csv, text/plain": ", text/plain" where a ; should be`,
		"text/csv; label_size":     `content type "text/csv; label_size": parameter label_size has no =`,
		"text/csv; label_size=":    `content type "text/csv; label_size=": parameter label_size has no value`,
		"text/csv; label_size=;":   `content type "text/csv; label_size=;": parameter label_size has no value`,
		"text/csv; label_size=0 1": `content type "text/csv; label_size=0 1": "1" where a ; should be`,
		"text/csv; =0":             `content type "text/csv; =0": "=0" where a parameter should be`,
		"text/csv; a=1; A=2":       `content type "text/csv; a=1; A=2": parameter a has two values`,
		`a/b; a="1`:                `content type "a/b; a=\"1": parameter a has no closing quote`,
		`a/b; a="1\`:               `content type "a/b; a=\"1\\": parameter a has no closing quote`,
		"a/b; a=\"1\n\"":           `content type "a/b; a=\"1\n\"": parameter a has a control character`,
	} {
		mediaType, params, err := channel.ParseContentType(text)
		require.EqualError(t, err, want)
		require.Zero(t, mediaType)
		require.Nil(t, params)
		var client interface{ ClientError() bool }
		require.True(t, errors.As(err, &client) && client.ClientError())
	}
}

func TestContentTypesOfTextAreLines(t *testing.T) {
	for text, want := range map[string]bool{
		"text/csv; label_size=0": true, "TEXT/libsvm": true, "application/jsonlines": true, "application/JSONLINES;x=y": true,
		"": false, "text": false, "application/x-recordio-protobuf": false, "application/json": false, "image/png": false,
	} {
		require.Equal(t, want, channel.Config{ContentType: text}.Lines(), text)
	}
}

// What mime.ParseMediaType takes, this takes with the same result, and what this takes can be
// written and read again.
func FuzzParseContentType(f *testing.F) {
	for _, seed := range []string{
		"text/csv", "text/csv; label_size = 0", `a/b; c="d\"e"; f=g`, "text/csv;;", "a/b; c", "a/b;c=\"\x00\"", "A/B; C=D ; c=d",
		`a/b; c="\é"`, "a/b; c*=utf-8''d", "text/csv,text/plain", "a/{}", "a/b;C=d;c=d",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		mediaType, params, err := channel.ParseContentType(text)
		if err != nil {
			require.Zero(t, mediaType)
			require.Nil(t, params)
		}
		// mime also knows RFC 2231 ("*"), keeps a backslash before most characters, takes control
		// characters and more kinds of blanks, and a media type without subtype.
		if !strings.ContainsAny(text, `*\`) && isPrintable(text) {
			wantType, wantParams, wantErr := mime.ParseMediaType(text)
			if wantErr == nil && strings.Contains(wantType, "/") {
				require.NoError(t, err)
				require.Equal(t, wantType, mediaType)
				require.Equal(t, wantParams, params)
			}
		}
		if err != nil {
			return
		}
		again := mediaType
		for name, value := range params {
			again += fmt.Sprintf(" ; %s = \"%s\"", name, strings.NewReplacer(`"`, `\"`, `\`, `\\`).Replace(value))
		}
		gotType, gotParams, err := channel.ParseContentType(again)
		require.NoError(t, err, again)
		require.Equal(t, mediaType, gotType)
		require.Equal(t, params, gotParams)
	})
}

func isPrintable(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r != '\t' && r < ' ' || r >= 0x7f }) < 0
}

func ExampleParseContentType() {
	mediaType, params, err := channel.ParseContentType("text/csv; label_size = 0")
	fmt.Println(mediaType, params["label_size"], err)
	// Output: text/csv 0 <nil>
}
