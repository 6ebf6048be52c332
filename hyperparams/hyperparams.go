// Package hyperparams turns the text of hyperparameters.json into a typed struct.
//
// A training job hands its hyperparameters over as a flat map of strings. An
// algorithm declares what it understands as a struct, and Parse fills it in or
// reports everything that is wrong with the map in one error:
//
//	type Params struct {
//		K            int                       `hyperparameter:"k,required" range:"[1,)" aka:"num_clusters"`
//		InitMethod   string                    `default:"random" enum:"random,kmeans++"`
//		LearningRate hyperparams.Auto[float64] `range:"(0,)"`
//		EvalMetrics  []string                  `default:"msd" enum:"msd,ssd"`
//	}
//
// # Declaring
//
// A field is named by its tag, or else by the snake_case of its Go name. These
// tags are understood:
//
//	hyperparameter:"name,required,verbatim"  each part may be left out; "-" ignores the field,
//	                                         "*" on a Map collects the unknown names
//	default:"5000"       the text used when the map has no value
//	enum:"sgd,adam"      the allowed values
//	range:"(0,1]"        the allowed interval; an end left out is unbounded
//	aka:"num_clusters"   names under which users look for it: hints for the error, not accepted
//
// With both enum and range, either is enough: enum:"-1" range:"[1,)". On a list
// they hold for each element. A field with neither default nor required keeps its
// zero value when the map has none; a pointer then stays nil.
//
// An embedded struct counts as if its fields stood in its place. The one who embeds
// it may settle its defaults, which also makes a required field optional:
//
//	algorithms.Batching `default:"mini_batch_size=5000"`
//
// What one tag cannot say goes into a method Validate() error on the struct or its
// pointer; Parse calls it once every field has its value. As in Go, a struct's own
// Validate hides the one of a struct it embeds.
//
// # Values
//
// The producers of hyperparameters.json disagree: one writes adam and True, another
// "adam", with the quotes, and true. So the declared type decides how a text is read,
// after one level of JSON quotes is taken off:
//
//   - Integers may be written 3, 3.0 or 1e3. Floats are always finite.
//   - Booleans are true or false in any case, or 1 or 0.
//   - Strings are taken as they are. With verbatim even the quotes stay.
//   - A [time.Duration] is 1m30s or a number of seconds; its range is in seconds.
//   - Slices are a JSON list. A list of plain values may also be separated by commas.
//   - Maps and structs are a JSON object, without keys that the struct lacks.
//   - An [encoding.TextUnmarshaler] reads itself.
//   - A pointer is what it points to; null leaves it nil.
//   - [Auto] and [WordOr] also take words.
//
// The empty text is a value for strings only.
//
// A name that no field declares is an error, with a hint at the one that was meant.
// Names that start with "_" or "sagemaker_" belong to the platform: they are never
// reported as unknown, and a struct may declare them.
package hyperparams

import (
	"encoding/json"
	"strings"
)

// A Map is the content of hyperparameters.json, which the platform writes as a flat
// object of strings.
type Map map[string]string

// UnmarshalJSON accepts what people write by hand, too: a number, bool, list or object
// becomes its JSON text, and a null is dropped, as if the name were not there.
func (m *Map) UnmarshalJSON(data []byte) error {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(data, &values); err != nil {
		return err
	}
	*m = make(Map, len(values))
	for name, value := range values {
		if text := string(value); text != "null" {
			(*m)[name] = unquote(text)
		}
	}
	return nil
}

// reserved reports whether the platform may add name to any job.
func reserved(name string) bool {
	return strings.HasPrefix(name, "_") || strings.HasPrefix(name, "sagemaker_")
}

// unquote takes the quotes off a JSON string literal; any other text stays as it is.
func unquote(text string) string {
	if len(text) < 2 || text[0] != '"' || text[len(text)-1] != '"' {
		return text
	}
	var s string
	if json.Unmarshal([]byte(text), &s) != nil {
		return text
	}
	return s
}
