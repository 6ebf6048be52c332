package hyperparams

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type small struct {
	K       int    `hyperparameter:",required"`
	Dim     int    `hyperparameter:"feature_dim,required"`
	Mode    string `enum:"a,b"`
	Objects []nested
}

func TestAnErrorListsItsProblemsInAFixedOrder(t *testing.T) {
	m := Map{"mode": "c", "zeta": "1", "alpha": "2", "k": "x"}
	for range 10 {
		_, err := Parse[small](m)
		list, ok := errors.AsType[*Error](err)
		require.True(t, ok)
		require.True(t, list.ClientError())
		var names []string
		for _, p := range list.Problems {
			names = append(names, p.Name)
		}
		require.Equal(t, []string{"k", "feature_dim", "mode", "alpha", "zeta"}, names)
		require.ErrorIs(t, err, ErrMissing)
		require.ErrorIs(t, err, ErrUnknown)
		require.Equal(t, strings.Join([]string{
			`No value(s) were specified for 'feature_dim' which are required hyperparameter(s)`,
			`hyperparameter k: "x": not an integer`,
			`hyperparameter mode: "c": must be one of a, b`,
			`hyperparameter alpha: unknown (known: k, feature_dim, mode, objects): Additional properties are not allowed ('alpha' was unexpected)`,
			`hyperparameter zeta: unknown (known: k, feature_dim, mode, objects): Additional properties are not allowed ('zeta' was unexpected)`,
		}, "\n"), err.Error())
	}
}

func TestASingleMissingHyperparameterReadsOnItsOwn(t *testing.T) {
	p := &Problem{Name: "k", Err: ErrMissing}
	require.EqualError(t, p, "hyperparameter k: required, but has no value")
}

func TestWhatTheUserWroteCannotFloodTheMessage(t *testing.T) {
	long := strings.Repeat("é", 100_000)
	deep := strings.Repeat("[", 100_000)
	tests := []struct {
		name string
		m    Map
		want string
	}{
		{"a long word", Map{"k": long}, `hyperparameter k: "` + long[:60] + `…" (200000 bytes): not an integer`},
		{"a long number", Map{"k": "1." + strings.Repeat("3", 5000)}, "hyperparameter k: 1." + strings.Repeat("3", 58) + "…: not an integer"},
		{"a deep list", Map{"objects": deep}, `hyperparameter objects: "` + deep[:60] + `…" (100000 bytes): not a JSON list`},
		{"a long unknown key in an object", Map{"objects": `[{"` + long + `": 1}]`}, "not the JSON object expected"},
		{"a long unknown name", Map{long: "1"}, "hyperparameter " + long[:60] + "…: unknown"},
		{"an unknown name with a line break", Map{"a\nb": "1"}, `hyperparameter "a\nb": unknown (known: k, feature_dim, mode, objects): Additional properties are not allowed ('a\nb' was unexpected)`},
		{"an unknown name with a space", Map{"my name": "1"}, `hyperparameter "my name": unknown`},
		{"an empty name", Map{"": "1"}, `hyperparameters: unknown`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse[small](test.m)
			require.ErrorContains(t, err, test.want)
			require.Less(t, len(err.Error()), 1000)
		})
	}
}

func TestAutoAndWordOrSurviveJSON(t *testing.T) {
	type both struct {
		A, B Auto[int]
		C, D WordOr[float64]
	}
	want := both{B: Fixed(3), C: WordOr[float64]{Word: "balanced"}, D: WordOr[float64]{Value: 0.5}}
	text, err := json.Marshal(want)
	require.NoError(t, err)
	require.JSONEq(t, `{"A": "auto", "B": 3, "C": "balanced", "D": 0.5}`, string(text))
	var got both
	require.NoError(t, json.Unmarshal(text, &got))
	require.Equal(t, want, got)

	require.Equal(t, "auto 3 balanced 0.5", strings.Join([]string{got.A.String(), got.B.String(), got.C.String(), got.D.String()}, " "))
	require.Error(t, json.Unmarshal([]byte(`{"A": "none"}`), &got))
	require.Error(t, json.Unmarshal([]byte(`{"C": []}`), &got))
}
