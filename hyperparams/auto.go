package hyperparams

import (
	"encoding/json"
	"fmt"
	"reflect"
)

const autoWord = "auto"

// An Auto is a hyperparameter that may be the word auto, for which the algorithm
// chooses. The zero Auto is auto, and so is the default of a field without one.
type Auto[T any] struct {
	value T
	fixed bool
}

// Fixed returns the Auto that is v.
func Fixed[T any](v T) Auto[T] { return Auto[T]{value: v, fixed: true} }

// IsAuto reports whether the choice is the algorithm's.
func (a Auto[T]) IsAuto() bool { return !a.fixed }

// Or returns the value of a, or choice if a is auto.
func (a Auto[T]) Or(choice T) T {
	if a.fixed {
		return a.value
	}
	return choice
}

func (a Auto[T]) String() string {
	if a.fixed {
		return fmt.Sprint(a.value)
	}
	return autoWord
}

// MarshalJSON writes "auto" or the value.
func (a Auto[T]) MarshalJSON() ([]byte, error) {
	if a.fixed {
		return json.Marshal(a.value)
	}
	return json.Marshal(autoWord)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (a *Auto[T]) UnmarshalJSON(data []byte) error {
	if string(data) == `"`+autoWord+`"` {
		a.setWord(autoWord)
		return nil
	}
	return json.Unmarshal(data, a.place().Addr().Interface())
}

// A WordOr is a hyperparameter that is a T or one of the words in its enum tag:
//
//	PositiveExampleWeightMult hyperparams.WordOr[float64] `default:"1.0" enum:"balanced,auto" range:"(0,)"`
type WordOr[T any] struct {
	Word  string // empty: it is Value
	Value T
}

func (w WordOr[T]) String() string {
	if w.Word != "" {
		return w.Word
	}
	return fmt.Sprint(w.Value)
}

// MarshalJSON writes the word or the value.
func (w WordOr[T]) MarshalJSON() ([]byte, error) {
	if w.Word != "" {
		return json.Marshal(w.Word)
	}
	return json.Marshal(w.Value)
}

// UnmarshalJSON reads what MarshalJSON writes. A string that T takes is a value.
func (w *WordOr[T]) UnmarshalJSON(data []byte) error {
	err := json.Unmarshal(data, w.place().Addr().Interface())
	if err == nil {
		return nil
	}
	var word string
	if json.Unmarshal(data, &word) != nil || word == "" {
		return err
	}
	w.setWord(word)
	return nil
}

// worded is a hyperparameter that is a word or else a value: *Auto and *WordOr.
type worded interface {
	split(rule) (words []string, forValue rule)
	setWord(string)
	place() reflect.Value // makes it a value, which the caller is to set
	zeroWord() string     // what the zero value stands for, "" if that is no word
}

// asWorded returns the worded in the variable v, or nil.
func asWorded(v reflect.Value) worded {
	w, _ := v.Addr().Interface().(worded)
	return w
}

func (a *Auto[T]) split(r rule) ([]string, rule) { return []string{autoWord}, r }

func (a *Auto[T]) setWord(string) { *a = Auto[T]{} }

func (a *Auto[T]) place() reflect.Value {
	a.fixed = true
	return reflect.ValueOf(&a.value).Elem()
}

func (a *Auto[T]) zeroWord() string { return autoWord }

func (w *WordOr[T]) split(r rule) ([]string, rule) {
	words := r.enum
	r.enum = nil
	return words, r
}

func (w *WordOr[T]) setWord(word string) { *w = WordOr[T]{Word: word} }

func (w *WordOr[T]) place() reflect.Value {
	w.Word = ""
	return reflect.ValueOf(&w.Value).Elem()
}

func (w *WordOr[T]) zeroWord() string { return "" }
