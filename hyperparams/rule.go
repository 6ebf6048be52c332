package hyperparams

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A rule says which values a hyperparameter may take. The zero rule allows all.
type rule struct {
	enum     []string
	within   *interval
	verbatim bool
}

// allows reports whether the plain value v is in the enum or in the range.
func (r rule) allows(v reflect.Value) bool {
	switch {
	case r.enum == nil && r.within == nil:
		return true
	case slices.ContainsFunc(r.enum, func(text string) bool { return stands(text, v) }):
		return true
	default:
		return r.within != nil && r.within.contains(number(v))
	}
}

// String completes the sentence "must be".
func (r rule) String() string {
	switch {
	case r.within == nil && len(r.enum) > 1:
		return "one of " + strings.Join(r.enum, ", ")
	case r.within == nil:
		return strings.Join(r.enum, "")
	case r.enum == nil:
		return "in " + r.within.String()
	default:
		return strings.Join(r.enum, ", ") + " or in " + r.within.String()
	}
}

// stands reports whether text is how v may be written: for a number, "2.0" is 2.
func stands(text string, v reflect.Value) bool {
	other := reflect.New(v.Type()).Elem()
	return scan(other, text) == nil && reflect.DeepEqual(other.Interface(), v.Interface())
}

// fits reports why a hyperparameter of type t cannot have the rule r, if so.
func (r rule) fits(t reflect.Type) error {
	if w := asWorded(reflect.New(t).Elem()); w != nil {
		words, inner := w.split(r)
		if len(words) == 0 {
			return fmt.Errorf("%v needs its words in an enum tag", t)
		}
		return inner.fits(w.place().Type())
	}
	if !readsText(t) && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice) {
		return r.fits(t.Elem())
	}
	if !readable(t) {
		return fmt.Errorf("the type %v is not supported", t)
	}
	if r.within != nil && !isNumber(t) {
		return fmt.Errorf("a range needs a number, not %v", t)
	}
	if r.enum != nil && !readsText(t) && !isPlain(t) {
		return errors.New("an enum needs plain values, not JSON objects")
	}
	for _, text := range r.enum {
		if err := scan(reflect.New(t).Elem(), text); err != nil {
			return fmt.Errorf("enum: %q: %w", text, err)
		}
	}
	return nil
}
