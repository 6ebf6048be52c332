package s3test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// list walks all pages and returns the keys, prefixes included.
func list(t require.TestingT, client *s3.Client, in s3.ListObjectsV2Input) []string {
	in.Bucket = aws.String("data")
	var keys []string
	pages := s3.NewListObjectsV2Paginator(client, &in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(context.Background())
		require.NoError(t, err)
		require.EqualValues(t, len(page.Contents)+len(page.CommonPrefixes), *page.KeyCount)
		var both []string
		for _, o := range page.Contents {
			both = append(both, *o.Key)
		}
		for _, p := range page.CommonPrefixes {
			both = append(both, *p.Prefix)
		}
		slices.Sort(both)
		keys = append(keys, both...)
	}
	return keys
}

func TestListingPagesPrefixesAndDelimiters(t *testing.T) {
	server, client := startTest(t)
	put(t, server, "a", "a/b", "a/c/d", "a0", "b/1", "b/2", "b/3", "ü")
	for name, test := range map[string]struct {
		in   s3.ListObjectsV2Input
		want []string
	}{
		"all":                  {s3.ListObjectsV2Input{}, []string{"a", "a/b", "a/c/d", "a0", "b/1", "b/2", "b/3", "ü"}},
		"prefix is a string":   {s3.ListObjectsV2Input{Prefix: aws.String("a")}, []string{"a", "a/b", "a/c/d", "a0"}},
		"prefix with a slash":  {s3.ListObjectsV2Input{Prefix: aws.String("a/")}, []string{"a/b", "a/c/d"}},
		"nothing":              {s3.ListObjectsV2Input{Prefix: aws.String("zzz")}, nil},
		"start after":          {s3.ListObjectsV2Input{StartAfter: aws.String("b/1")}, []string{"b/2", "b/3", "ü"}},
		"start after no key":   {s3.ListObjectsV2Input{StartAfter: aws.String("a/z")}, []string{"a0", "b/1", "b/2", "b/3", "ü"}},
		"start before prefix":  {s3.ListObjectsV2Input{StartAfter: aws.String("a"), Prefix: aws.String("b/")}, []string{"b/1", "b/2", "b/3"}},
		"delimiter":            {s3.ListObjectsV2Input{Delimiter: aws.String("/")}, []string{"a", "a/", "a0", "b/", "ü"}},
		"delimiter and prefix": {s3.ListObjectsV2Input{Delimiter: aws.String("/"), Prefix: aws.String("a/")}, []string{"a/b", "a/c/"}},
	} {
		for _, limit := range []int32{1, 2, 3, 1000} {
			t.Run(fmt.Sprint(name, " by ", limit), func(t *testing.T) {
				test.in.MaxKeys = &limit
				require.Equal(t, test.want, list(t, client, test.in))
			})
		}
	}
	out, err := client.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String("data"), MaxKeys: aws.Int32(0)})
	require.NoError(t, err)
	require.False(t, *out.IsTruncated)
	_, err = client.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String("data"), ContinuationToken: aws.String("?")})
	requireAPIError(t, err, 400, "InvalidArgument")
	_, err = client.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String("nobucket")})
	requireAPIError(t, err, 404, "NoSuchBucket")
}

func TestListingVersionOne(t *testing.T) {
	server, client := startTest(t)
	put(t, server, "a", "b/1", "b/2", "c", "d/1")
	var keys []string
	marker := ""
	for range 10 {
		out, err := client.ListObjects(t.Context(), &s3.ListObjectsInput{
			Bucket: aws.String("data"), Delimiter: aws.String("/"), MaxKeys: aws.Int32(1), Marker: &marker,
		})
		require.NoError(t, err)
		for _, o := range out.Contents {
			keys = append(keys, *o.Key)
		}
		for _, p := range out.CommonPrefixes {
			keys = append(keys, *p.Prefix)
		}
		if !*out.IsTruncated {
			break
		}
		marker = *out.NextMarker
	}
	require.Equal(t, []string{"a", "b/", "c", "d/"}, keys)
}

func TestListingEncodesWhatXMLCannotHold(t *testing.T) {
	server, client := startTest(t)
	put(t, server, "bell\x07", "a b+c/d")
	out, err := client.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{
		Bucket: aws.String("data"), EncodingType: types.EncodingTypeUrl,
	})
	require.NoError(t, err)
	require.Equal(t, []string{"a+b%2Bc/d", "bell%07"}, []string{*out.Contents[0].Key, *out.Contents[1].Key})
}

// Pages of any size hold together what a sorted, filtered list holds.
func TestListingAgainstASortedSlice(t *testing.T) {
	server, client := startTest(t)
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringOfN(rapid.RuneFrom([]rune{'a', 'b', '/', 'ü', '日'}), 1, 6, -1)
		keys := rapid.SliceOfNDistinct(key, 0, 12, rapid.ID[string]).Draw(t, "keys")
		prefix := rapid.StringOfN(rapid.RuneFrom([]rune{'a', '/'}), 0, 2, -1).Draw(t, "prefix")
		after := rapid.OneOf(rapid.Just(""), key).Draw(t, "after")
		limit := rapid.Int32Range(1, 5).Draw(t, "limit")
		var want []string
		slices.Sort(keys)
		for _, k := range keys {
			if err := server.Put("data", k, strings.NewReader("")); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(k, prefix) && k > after {
				want = append(want, k)
			}
		}
		in := s3.ListObjectsV2Input{Prefix: &prefix, MaxKeys: &limit}
		if after != "" {
			in.StartAfter = &after
		}
		require.Equal(t, want, list(t, client, in))
		for _, k := range keys {
			require.NoError(t, server.store.remove("data", k))
		}
	})
}
