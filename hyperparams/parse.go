package hyperparams

import (
	"maps"
	"reflect"
	"slices"
)

// Parse returns the T, a struct, that m describes. Its error is an [*Error], which
// lists every problem of m: first those of the declared fields, in their order, then
// the unknown names, sorted.
//
// Parse panics if the tags of T make no sense, as [regexp.MustCompile] does: that is
// a mistake in the program, not in m.
func Parse[T any](m Map) (T, error) {
	var params, zero T
	decl := declarationOf(reflect.TypeFor[T]())
	problems := decl.fill(reflect.ValueOf(&params).Elem(), m)
	if len(problems) == 0 {
		problems = validate(&params)
	}
	if decl.rest == nil {
		problems = append(problems, decl.unknownProblems(m)...)
	}
	if len(problems) > 0 {
		return zero, &Error{Problems: problems}
	}
	return params, nil
}

// Defaults returns the defaults that T declares, as their tags spell them; an [Auto]
// without one is "auto". Parse[T] of a map is Parse[T] of these overlaid by the map.
func Defaults[T any]() Map {
	defaults := Map{}
	for _, f := range declarationOf(reflect.TypeFor[T]()).fields {
		if f.hasDefault {
			defaults[f.name] = f.defaultText
		}
	}
	return defaults
}

// fill sets the fields of the struct v from m and returns what went wrong.
func (d *declaration) fill(v reflect.Value, m Map) []*Problem {
	var problems []*Problem
	for _, f := range d.fields {
		text, given := f.textIn(m)
		var err error
		switch {
		case given:
			err = f.decode(v.FieldByIndex(f.index), text)
		case f.required:
			err = ErrMissing
		}
		if err != nil {
			problems = append(problems, &Problem{Name: f.name, Err: err})
		}
	}
	if d.rest != nil {
		rest := Map{}
		for _, name := range d.unknown(m) {
			rest[name] = m[name]
		}
		v.FieldByIndex(d.rest).Set(reflect.ValueOf(rest))
	}
	return problems
}

// textIn returns the text for f in m, or else its default.
func (f *field) textIn(m Map) (text string, given bool) {
	text, given = m[f.name]
	if f.optional && text == "null" {
		return "", false
	}
	if !given {
		return f.defaultText, f.hasDefault
	}
	return text, true
}

// validate asks params itself, if it wants to be asked.
func validate(params any) []*Problem {
	v, ok := params.(interface{ Validate() error })
	if !ok {
		return nil
	}
	switch err := v.Validate().(type) {
	case nil:
		return nil
	case *Problem:
		return []*Problem{err}
	default:
		return []*Problem{{Err: err}}
	}
}

// unknown returns the names in m, sorted, that are neither declared nor reserved.
func (d *declaration) unknown(m Map) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !reserved(name) && !d.declares(name) {
			names = append(names, name)
		}
	}
	return names
}

func (d *declaration) unknownProblems(m Map) []*Problem {
	var problems []*Problem
	for _, name := range d.unknown(m) {
		problems = append(problems, &Problem{Name: name, Err: d.unknownError(name)})
	}
	return problems
}
