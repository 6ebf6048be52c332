package api

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// token says where a list goes on, as clients get it.
func token(v any) *string {
	return aws.String(base64.RawURLEncoding.EncodeToString(mustJSON(v)))
}

func parseToken(token string, v any) error {
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		return invalid("Invalid NextToken.")
	}
	return nil
}

// between reports whether t is after one time and before another, as far as they are given.
func between(t time.Time, after, before *time.Time) bool {
	return (after == nil || t.After(*after)) && (before == nil || t.Before(*before))
}

// place is where something stands in a list.
type place struct{ Key, Name string }

func (p place) compare(o place) int {
	return cmp.Or(cmp.Compare(p.Key, o.Key), cmp.Compare(p.Name, o.Name))
}

const sortableTime = "2006-01-02T15:04:05.000000000Z"

// cut sorts all and returns the page after the token, and the token of the next.
func cut[T any](all []T, order func(T) place, descending bool, after *string, most *int32) (page []T, next *string, err error) {
	compare := func(a, b place) int {
		if descending {
			a, b = b, a
		}
		return a.compare(b)
	}
	type placed struct {
		place
		value T
	}
	sorted := make([]placed, len(all)) // the places are made once, not for each comparison
	for i, v := range all {
		sorted[i] = placed{order(v), v}
	}
	slices.SortFunc(sorted, func(a, b placed) int { return compare(a.place, b.place) })
	if after != nil {
		var last place
		if err := parseToken(*after, &last); err != nil {
			return nil, nil, err
		}
		i, found := slices.BinarySearchFunc(sorted, last, func(a placed, p place) int { return compare(a.place, p) })
		if found {
			i++
		}
		sorted = sorted[i:]
	}
	const standard = 10
	if n := int(aws.ToInt32(cmp.Or(most, aws.Int32(standard)))); n < len(sorted) {
		sorted = sorted[:n]
		next = token(sorted[n-1].place)
	}
	for _, p := range sorted {
		page = append(page, p.value)
	}
	return page, next, nil
}
