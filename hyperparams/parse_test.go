package hyperparams

import (
	"encoding/json"
	"errors"
	"math"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// everything has a field of each supported kind.
type everything struct {
	Name     string
	Pattern  string `hyperparameter:"pattern,verbatim"`
	Int      int
	Small    int8
	Unsigned uint16
	Seed     uint64
	Float    float64
	Single   float32 `range:"[0,0.1]"`
	Flag     bool
	Wait     time.Duration `range:"[0,3600]"`
	Address  netip.Addr
	Ints     []int
	Names    []string
	Rows     [][]float64
	Weights  map[string]float64
	Nested   nested
	Layers   Auto[[]int]
	Rate     Auto[float64] `range:"(0,)"`
	Solver   Auto[string]  `enum:"sgd,adam"`
	Bias     Auto[bool]
	Balance  WordOr[float64] `enum:"balanced,auto" range:"(0,)"`
	Clip     *float64
	Label    *string
}

type nested struct {
	A int
	B []string
}

func TestTheProducersOfTheFileDisagreeButParseDoesNot(t *testing.T) {
	want := everything{
		Name: "x", Int: 3, Float: 0.001, Flag: true, Names: []string{"a", "b"}, Ints: []int{1, 2},
		Weights: map[string]float64{"a": 1}, Rate: Fixed(0.5), Bias: Fixed(true), Wait: 90 * time.Second,
		Balance: WordOr[float64]{Word: "balanced"}, Solver: Auto[string]{},
	}
	producers := []struct {
		name string
		file string
	}{
		{"raw strings, as a user types them", `{
			"name": "x", "int": "3", "float": "1e-3", "flag": "true", "names": "a,b", "ints": "1, 2",
			"weights": "{\"a\": 1}", "rate": "0.5", "bias": "1", "wait": "1m30s", "balance": "balanced", "solver": "auto"}`},
		{"Python SDK 2, built-in algorithms: str(v)", `{
			"name": "x", "int": "3", "float": "0.001", "flag": "True", "names": "[\"a\", \"b\"]", "ints": "[1, 2]",
			"weights": "{\"a\": 1.0}", "rate": "0.5", "bias": "True", "wait": "90", "balance": "balanced", "solver": "auto"}`},
		{"Python SDK 2, frameworks: JSON of every value", `{
			"name": "\"x\"", "int": "3", "float": "0.001", "flag": "true", "names": "[\"a\",\"b\"]", "ints": "[1,2]",
			"weights": "{\"a\":1.0}", "rate": "0.5", "bias": "true", "wait": "90.0", "balance": "\"balanced\"", "solver": "\"auto\"",
			"clip": "null"}`},
		{"a hand-made tree with JSON values", `{
			"name": "x", "int": 3, "float": 1e-3, "flag": true, "names": ["a", "b"], "ints": [1, 2],
			"weights": {"a": 1}, "rate": 0.5, "bias": true, "wait": 90, "balance": "balanced", "solver": "auto",
			"label": null}`},
	}
	for _, producer := range producers {
		t.Run(producer.name, func(t *testing.T) {
			var m Map
			require.NoError(t, json.Unmarshal([]byte(producer.file), &m))
			got, err := Parse[everything](m)
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
}

func TestParseReadsByTheDeclaredType(t *testing.T) {
	half, word := 0.5, "null"
	tests := []struct {
		name  string
		field string
		text  string
		want  everything
	}{
		{"an integer with a zero fraction", "int", "3.0", everything{Int: 3}},
		{"an integer in scientific notation", "int", "1e3", everything{Int: 1000}},
		{"an integer whose exponent undoes its fraction", "int", "1.25e2", everything{Int: 125}},
		{"an integer whose exponent undoes its zeros", "int", "-12000e-3", everything{Int: -12}},
		{"an integer with spaces around", "int", " 3 ", everything{Int: 3}},
		{"an integer with a sign", "unsigned", "+3", everything{Unsigned: 3}},
		{"an integer in quotes", "int", `"3"`, everything{Int: 3}},
		{"an integer beyond the precision of a float64", "seed", "18446744073709551615.0", everything{Seed: math.MaxUint64}},
		{"a zero with a huge exponent", "int", "0e999999999", everything{}},
		{"the smallest int8", "small", "-128", everything{Small: -128}},
		{"a float32 on the closed end of its range", "single", "0.1", everything{Single: 0.1}},
		{"a float too small to hold is zero", "float", "1e-999", everything{}},
		{"a bool in capitals", "flag", "TRUE", everything{Flag: true}},
		{"a bool as a digit", "flag", "1", everything{Flag: true}},
		{"a string with spaces", "name", " a b ", everything{Name: " a b "}},
		{"a string that looks like a number", "name", "1e3", everything{Name: "1e3"}},
		{"a string loses one level of quotes", "name", `"\"x\""`, everything{Name: `"x"`}},
		{"a string that merely starts and ends with quotes", "name", `"a" or "b"`, everything{Name: `"a" or "b"`}},
		{"a verbatim string keeps its quotes", "pattern", `"x"`, everything{Pattern: `"x"`}},
		{"an empty string", "name", "", everything{}},
		{"a duration in Go's syntax", "wait", "1m30s", everything{Wait: 90 * time.Second}},
		{"a duration in seconds", "wait", "0.25", everything{Wait: 250 * time.Millisecond}},
		{"a type that reads text", "address", "10.0.0.1", everything{Address: netip.MustParseAddr("10.0.0.1")}},
		{"a list between commas", "names", "a, b", everything{Names: []string{"a", "b"}}},
		{"a list between commas, in quotes", "names", `"a,b"`, everything{Names: []string{"a", "b"}}},
		{"a list of one", "names", "a", everything{Names: []string{"a"}}},
		{"an empty list", "ints", "[]", everything{Ints: []int{}}},
		{"a list of integers as floats", "ints", "[1.0, 2e1]", everything{Ints: []int{1, 20}}},
		{"a list of numbers for strings", "names", `[1, "b"]`, everything{Names: []string{"1", "b"}}},
		{"a list of lists", "rows", "[[1,2],[]]", everything{Rows: [][]float64{{1, 2}, {}}}},
		{"an object for a struct", "nested", `{"A": 1, "B": ["x"]}`, everything{Nested: nested{1, []string{"x"}}}},
		{"auto or a list: the list", "layers", "300,200", everything{Layers: Fixed([]int{300, 200})}},
		{"auto or a bool: auto", "bias", "auto", everything{}},
		{"words or a number: the number", "balance", "2.5", everything{Balance: WordOr[float64]{Value: 2.5}}},
		{"an optional number", "clip", "0.5", everything{Clip: &half}},
		{"an optional number that is null", "clip", "null", everything{}},
		{"an optional string that is the word null", "label", `"null"`, everything{Label: &word}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Parse[everything](Map{test.field: test.text})
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
}

func TestParseRefusesWhatTheTypeCannotHold(t *testing.T) {
	tests := []struct {
		name  string
		field string
		text  string
		want  string
	}{
		{"a word for an integer", "int", "ten", `"ten": not an integer`},
		{"nothing for an integer", "int", "", `"": not an integer`},
		{"null for an integer", "int", "null", `"null": not an integer`},
		{"a fraction for an integer", "int", "1.5", `1.5: not an integer`},
		{"a fraction hidden in many digits", "int", "1.00000000000000000000001", `1.00000000000000000000001: not an integer`},
		{"a fraction by its exponent", "int", "15e-1", `15e-1: not an integer`},
		{"a huge exponent", "int", "1e999999999", `1e999999999: must be in [-9223372036854775808,9223372036854775807]`},
		{"a huge negative exponent", "int", "1e-999999999", `1e-999999999: not an integer`},
		{"an integer too large for an int8", "small", "128", `128: must be in [-128,127]`},
		{"a negative unsigned integer", "unsigned", "-1", `-1: must be in [0,65535]`},
		{"two levels of quotes", "int", `"\"3\""`, `"\"3\"": not an integer`},
		{"a hexadecimal integer", "int", "0x10", `"0x10": not an integer`},
		{"nothing for a float", "float", "", `"": not a number`},
		{"not a number, in the word's own sense", "float", "nan", `"nan": not a finite number`},
		{"infinity", "float", "-Inf", `"-Inf": not a finite number`},
		{"a float too large", "float", "1e999", `1e999: not a finite number`},
		{"a float32 too large", "single", "1e39", `1e39: not a finite number`},
		{"yes for a bool", "flag", "yes", `"yes": not a bool`},
		{"nothing for a bool", "flag", "", `"": not a bool`},
		{"a duration without a unit it knows", "wait", "3 weeks", `"3 weeks": not a duration (such as 90, in seconds, or 1m30s)`},
		{"a duration that overflows", "wait", "1e10", `1e10: not a duration (such as 90, in seconds, or 1m30s)`},
		{"a duration that is not a number", "wait", "nan", `"nan": not a duration (such as 90, in seconds, or 1m30s)`},
		{"a duration out of its range, in seconds", "wait", "2h", `"2h": must be in [0,3600]`},
		{"nothing for a type that reads text", "address", "", `"": must not be empty`},
		{"nonsense for a type that reads text", "address", "x", `"x": ParseAddr("x"): unable to parse IP`},
		{"nothing for a list", "names", "", `"": not a JSON list`},
		{"a Python list", "names", "['a', 'b']", `"['a', 'b']": not a JSON list`},
		{"a list that holds a null", "names", `["a", null]`, `"[\"a\", null]": holds a null`},
		{"a bad element in a list", "ints", "1,two", `"two": not an integer`},
		{"lists between commas", "rows", "1,2", `"1,2": not a JSON list`},
		{"null for a list of lists", "rows", "null", `"null": not a JSON list`},
		{"a list for an object", "nested", "[]", `"[]": not a JSON object`},
		{"an unknown key in an object", "nested", `{"C": 1}`, `"{\"C\": 1}": not the JSON object expected: json: unknown field "C"`},
		{"two objects", "weights", `{} {}`, `"{} {}": not a single JSON object`},
		{"neither a number nor auto", "rate", "fast", `"fast": not a number or auto`},
		{"a number out of range, where auto is allowed", "rate", "0", `0: must be in (0,) or auto`},
		{"a word that is not in the enum, where auto is allowed", "solver", "lbfgs", `"lbfgs": must be one of sgd, adam or auto`},
		{"neither a number nor one of two words", "balance", "fair", `"fair": not a number or balanced or auto`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse[everything](Map{test.field: test.text})
			require.EqualError(t, err, "hyperparameter "+test.field+": "+test.want)
		})
	}
}

type checked struct {
	Low, High int
}

func (c *checked) Validate() error {
	if c.Low > c.High {
		return &Problem{Name: "low", Err: errLow}
	}
	return nil
}

var errLow = errors.New("must not be above high")

func TestParseAsksTheStructItself(t *testing.T) {
	_, err := Parse[checked](Map{"low": "2", "high": "1", "hig": "3"})
	require.ErrorIs(t, err, errLow)
	require.EqualError(t, err, "hyperparameter low: must not be above high\n"+
		"hyperparameter hig: unknown (did you mean high?): Additional properties are not allowed ('hig' was unexpected)")

	_, err = Parse[checked](Map{"low": "two"})
	require.EqualError(t, err, `hyperparameter low: "two": not an integer`, "not asked before every value is there")
}

func TestParseReturnsTheZeroStructWithAnError(t *testing.T) {
	got, err := Parse[checked](Map{"low": "1", "high": "x"})
	require.Error(t, err)
	require.Zero(t, got)
}

func TestReservedNamesAreNeverUnknownAndMayBeDeclared(t *testing.T) {
	m := Map{"_tuning_objective_metric": "test:msd", "_num_gpus": "2", "sagemaker_program": "train.py"}
	got, err := Parse[struct {
		Metric string    `hyperparameter:"_tuning_objective_metric"`
		GPUs   Auto[int] `hyperparameter:"_num_gpus"`
	}](m)
	require.NoError(t, err)
	require.Equal(t, "test:msd", got.Metric)
	require.Equal(t, 2, got.GPUs.Or(0))
}

func TestTheMapOfTheRestLacksDeclaredAndReservedNames(t *testing.T) {
	got, err := Parse[struct {
		K    int
		Rest Map `hyperparameter:"*"`
	}](Map{"k": "1", "_kvstore": "auto", "other": `"x"`})
	require.NoError(t, err)
	require.Equal(t, Map{"other": `"x"`}, got.Rest)
}

func TestAMapIsAnObject(t *testing.T) {
	var m Map
	require.NoError(t, json.Unmarshal([]byte(`{}`), &m))
	require.Equal(t, Map{}, m)
	require.NoError(t, json.Unmarshal([]byte(`null`), &m))
	require.Equal(t, Map{}, m)
	require.Error(t, json.Unmarshal([]byte(`["k"]`), &m))
}
