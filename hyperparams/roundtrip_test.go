package hyperparams

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// format writes params as the frameworks of the Python SDK do: the JSON of every
// value, strings with their quotes, None left out.
func format[T any](t require.TestingT, params T) Map {
	m := Map{}
	v := reflect.ValueOf(params)
	for _, f := range declarationFor[T]().fields {
		value := v.FieldByIndex(f.index)
		if f.verbatim || f.typ == durationType {
			m[f.name] = fmt.Sprint(value.Interface())
			continue
		}
		if (f.optional || f.typ.Kind() == reflect.Slice || f.typ.Kind() == reflect.Map) && value.IsNil() || readsText(f.typ) && value.IsZero() {
			continue
		}
		if w, ok := value.Interface().(WordOr[float64]); ok && w == (WordOr[float64]{}) {
			continue // the zero value is not in its range
		}
		text, err := json.Marshal(value.Interface())
		require.NoError(t, err)
		m[f.name] = string(text)
	}
	return m
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"", "x", "3", "3.0", "1e3", "1e-3", "nan", "-Inf", "0x1p-2", "1e999999999", "true", "True", "auto", "balanced", "sgd", "null",
		`"x"`, `"3"`, `"\"x\""`, `"null"`, "1m30s", "90", "10.0.0.1", "fe80::1%eth0", "a,b", `"a","b"`, "[1,2]", `["a", "b"]`, "[[1],[2,3]]",
		"[null]", `{"a": 1}`, `{"A": 1, "B": ["x"]}`, `{"k": 1, "name": null}`, "[[[[[[[[", `{"A":{"A":{"A":`, "\xff", " 3 ", "2562047h47m16.854775807s",
	} {
		f.Add(text)
	}
	fields := declarationFor[everything]().fields
	f.Fuzz(func(t *testing.T, text string) {
		var m Map
		_ = json.Unmarshal([]byte(text), &m)
		_, _ = Parse[everything](m)
		if _, err := Parse[everything](Map{text: text}); err != nil {
			require.Less(t, len(err.Error()), 1000)
		}
		for _, field := range fields {
			params, err := Parse[everything](Map{field.name: text})
			if err != nil {
				require.Less(t, len(err.Error()), 1000)
				continue
			}
			if !utf8.ValidString(text) {
				continue // JSON cannot carry it
			}
			again, err := Parse[everything](format(t, params))
			require.NoError(t, err, field.name)
			require.Equal(t, params, again, field.name)
		}
	})
}

func TestWhateverAStructHoldsComesBackFromItsJSON(t *testing.T) {
	positive := rapid.Float64Range(1e-300, 1e300)
	rapid.Check(t, func(t *rapid.T) {
		want := everything{
			Name:     rapid.String().Draw(t, "name"),
			Pattern:  rapid.String().Draw(t, "pattern"),
			Int:      rapid.Int().Draw(t, "int"),
			Small:    rapid.Int8().Draw(t, "small"),
			Unsigned: rapid.Uint16().Draw(t, "unsigned"),
			Seed:     rapid.Uint64().Draw(t, "seed"),
			Float:    rapid.Float64Range(-1e300, 1e300).Draw(t, "float"),
			Single:   rapid.Float32Range(0, 0.1).Draw(t, "single"),
			Flag:     rapid.Bool().Draw(t, "flag"),
			Wait:     time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "wait")),
			Ints:     rapid.SliceOf(rapid.Int()).Draw(t, "ints"),
			Names:    rapid.SliceOf(rapid.String()).Draw(t, "names"),
			Rows:     rapid.SliceOf(rapid.SliceOf(rapid.Float64Range(-1, 1))).Draw(t, "rows"),
			Weights:  rapid.MapOf(rapid.String(), positive).Draw(t, "weights"),
			Clip:     rapid.Ptr(positive, true).Draw(t, "clip"),
			Label:    rapid.Ptr(rapid.String(), true).Draw(t, "label"),
			Balance:  WordOr[float64]{Word: "auto"},
		}
		if rapid.Bool().Draw(t, "fixed") {
			want.Rate = Fixed(positive.Draw(t, "rate"))
			want.Balance = WordOr[float64]{Value: positive.Draw(t, "balance")}
			want.Layers = Fixed(rapid.SliceOfN(rapid.Int(), 1, 3).Draw(t, "layers"))
		}
		got, err := Parse[everything](format(t, want))
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

func TestAnIntegerIsTheSameHoweverItIsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Int64().Draw(t, "n")
		digits := strconv.FormatInt(want, 10)
		sign := ""
		if want < 0 {
			sign, digits = "-", digits[1:]
		}
		point := rapid.IntRange(1, len(digits)).Draw(t, "point")
		zeros := strings.Repeat("0", rapid.IntRange(0, 5).Draw(t, "zeros"))
		for _, text := range []string{
			sign + zeros + digits,
			sign + digits + "." + zeros,
			fmt.Sprintf("%s%s.%s%se%d", sign, digits[:point], digits[point:], zeros, len(digits)-point),
			fmt.Sprintf("%s%s%se-%d", sign, digits, zeros, len(zeros)),
		} {
			got, err := Parse[struct{ N int64 }](Map{"n": text})
			require.NoError(t, err)
			require.Equal(t, want, got.N, text)
		}
	})
}
