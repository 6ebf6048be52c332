package hyperparams

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

func declarationFor[T any]() *declaration { return declarationOf(reflect.TypeFor[T]()) }

func TestAFieldWithoutANameTakesTheSnakeCaseOfItsOwn(t *testing.T) {
	for goName, want := range map[string]string{
		"K": "k", "LearningRate": "learning_rate", "FeatureDim": "feature_dim", "L1": "l1", "WD": "wd",
		"HTTPPort": "http_port", "PortHTTP": "port_http", "F1Score": "f1_score", "Conv2D": "conv2d",
	} {
		require.Equal(t, want, snakeCase(goName))
	}
}

func TestFieldsThatAreNotHyperparametersAreLeftAlone(t *testing.T) {
	type params struct {
		K       int
		Ignored chan int `hyperparameter:"-"`
		private int
	}
	d := declarationFor[params]()
	require.Len(t, d.fields, 1)
	require.Equal(t, "k", d.fields[0].name)
	_ = params{}.private
}

func TestEmbeddingStructsSettleDefaultsFromTheInsideOut(t *testing.T) {
	type middle struct {
		batching `default:"mini_batch_size=10,feature_dim=3"`
	}
	type outer struct {
		middle `default:"mini_batch_size=20"`
	}
	got, err := Parse[outer](Map{})
	require.NoError(t, err)
	require.Equal(t, outer{middle{batching{FeatureDim: 3, MiniBatchSize: 20}}}, got)
}

func TestTagsThatMakeNoSensePanic(t *testing.T) {
	type Batching struct{ Size int }
	tests := []struct {
		name    string
		declare func()
		want    string
	}{
		{"not a struct", use[int], "hyperparams: int is not a struct"},
		{"an option that does not exist", use[struct {
			K int `hyperparameter:"k,require"`
		}], `no option is called "require"`},
		{"two fields of one name", use[struct {
			K int
			L int `hyperparameter:"k"`
		}], "the name k is already taken"},
		{"a required field with a default", use[struct {
			K int `hyperparameter:",required" default:"1"`
		}], "a required field or a pointer takes no default"},
		{"a pointer with a default", use[struct {
			K *int `default:"1"`
		}], "a required field or a pointer takes no default"},
		{"a default that does not parse", use[struct {
			K int `default:"one"`
		}], `K: default: "one": not an integer`},
		{"a default that is not in the range", use[struct {
			K int `default:"0" range:"[1,)"`
		}], "K: default: 0: must be in [1,)"},
		{"a default that is not in the enum", use[struct {
			K string `default:"c" enum:"a,b"`
		}], `K: default: "c": must be one of a, b`},
		{"a default that is not the only value", use[struct {
			K string `default:"c" enum:"a"`
		}], `K: default: "c": must be a`},
		{"an unsigned default that is not in the range", use[struct {
			K uint8 `default:"0" range:"[1,)"`
		}], "K: default: 0: must be in [1,)"},
		{"an enum that does not parse", use[struct {
			K int `enum:"1,two"`
		}], `K: enum: "two": not an integer`},
		{"an enum of objects", use[struct {
			K map[string]int `enum:"{}"`
		}], "an enum needs plain values, not JSON objects"},
		{"a range of strings", use[struct {
			K string `range:"[1,2]"`
		}], "a range needs a number, not string"},
		{"a range that is no interval", use[struct {
			K int `range:"1..2"`
		}], `K: range "1..2": want an interval such as [1,10], (0,1) or [0,)`},
		{"a verbatim number", use[struct {
			K int `hyperparameter:",verbatim"`
		}], "verbatim is for strings, not for int"},
		{"words without an enum", use[struct {
			K WordOr[int]
		}], "WordOr[int] needs its words in an enum tag"},
		{"a type that has no text form", use[struct {
			K chan int
		}], "the type chan int is not supported"},
		{"a list of a type that has no text form", use[struct {
			K []any
		}], "the type interface {} is not supported"},
		{"a rest that is not a Map", use[struct {
			K int `hyperparameter:"*"`
		}], `"*" is for one field, of type hyperparams.Map`},
		{"an embedded pointer", use[struct {
			*Batching
		}], "embed the struct, not a pointer to it"},
		{"a default for a field that is not embedded", use[struct {
			Batching `default:"epochs=1"`
		}], `default "epochs=1": want name=value, of one of its fields`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			defer func() { require.Contains(t, recover(), test.want) }()
			test.declare()
		})
	}
}

func use[T any]() { Defaults[T]() }

func TestAnIntervalKnowsItsEnds(t *testing.T) {
	tests := []struct {
		text    string
		in, out []float64
	}{
		{"[1,)", []float64{1, 1e300}, []float64{0.999, -1}},
		{"(0,1)", []float64{1e-300, 0.5}, []float64{0, 1}},
		{"[0,1)", []float64{0}, []float64{1, -1e-300}},
		{"(0,1]", []float64{1}, []float64{0}},
		{"(,0]", []float64{0, -1e300}, []float64{1e-300}},
		{"(,)", []float64{-1e300, 0, 1e300}, nil},
		{"[3,1e6]", []float64{3, 1e6}, []float64{2, 1e6 + 1}},
		{"[-1.5e-3,-1e-3]", []float64{-0.00125}, []float64{0}},
		{"[2,2]", []float64{2}, []float64{1, 3}},
	}
	for _, test := range tests {
		v, err := parseInterval(test.text)
		require.NoError(t, err)
		require.Equal(t, test.text, v.String())
		for _, x := range test.in {
			require.True(t, v.contains(x), "%v in %v", x, v)
		}
		for _, x := range test.out {
			require.False(t, v.contains(x), "%v in %v", x, v)
		}
	}
}

func TestARangeThatIsNoIntervalIsRefused(t *testing.T) {
	for _, text := range []string{
		"", "[", "[]", "1,2", "[1", "[1]", "[1,2", "1,2]", "]1,2[", "[[1,2]]", "[1,]", "[,1]",
		"[a,b]", "[1,inf)", "[nan,2]", "[1,2,3]", "[2,1]", "(1,1]", "(1,1)", "[0,1e999]",
	} {
		_, err := parseInterval(text)
		require.ErrorContains(t, err, "range ", text)
	}
}
