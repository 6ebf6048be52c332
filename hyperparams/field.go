package hyperparams

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// A declaration is what a struct type says about its hyperparameters.
type declaration struct {
	fields []*field // those of embedded structs included, in source order
	rest   []int    // index path of the Map that takes unknown names, or nil
}

// A field is one declared hyperparameter.
type field struct {
	rule
	name        string
	aka         []string
	index       []int // for reflect.Value.FieldByIndex
	typ         reflect.Type
	goName      string // for panics
	defaultText string
	hasDefault  bool
	required    bool
	optional    bool // a pointer
}

// declarationOf reads the tags of t and panics if they make no sense.
func declarationOf(t reflect.Type) *declaration {
	if t.Kind() != reflect.Struct {
		panic(fmt.Sprintf("hyperparams: %v is not a struct", t))
	}
	d := new(declaration)
	d.collect(t, nil)
	for i, f := range d.fields {
		same := func(g *field) bool { return g.name == f.name }
		if slices.ContainsFunc(d.fields[:i], same) {
			f.panicf("the name %s is already taken", f.name)
		}
		f.verify()
	}
	return d
}

// collect appends the fields of t, which lies at index in the outermost struct.
func (d *declaration) collect(t reflect.Type, index []int) {
	for i := range t.NumField() {
		sf := t.Field(i)
		at := append(slices.Clone(index), i)
		goName := t.String() + "." + sf.Name
		tag, tagged := sf.Tag.Lookup("hyperparameter")
		switch {
		case tag == "-":
		case sf.Anonymous && !tagged && sf.Type.Kind() == reflect.Pointer:
			panic(fmt.Sprintf("hyperparams: %s: embed the struct, not a pointer to it", goName))
		case sf.Anonymous && !tagged && sf.Type.Kind() == reflect.Struct && !readsText(sf.Type):
			first := len(d.fields)
			d.collect(sf.Type, at)
			overrideDefaults(d.fields[first:], goName, sf.Tag.Get("default"))
		case !sf.IsExported():
		case tag == "*":
			if sf.Type != reflect.TypeFor[Map]() || d.rest != nil {
				panic(fmt.Sprintf("hyperparams: %s: \"*\" is for one field, of type hyperparams.Map", goName))
			}
			d.rest = at
		default:
			d.fields = append(d.fields, newField(sf, goName, at))
		}
	}
}

// newField reads the tags of one struct field.
func newField(sf reflect.StructField, goName string, index []int) *field {
	f := &field{index: index, typ: sf.Type, goName: goName, optional: sf.Type.Kind() == reflect.Pointer}
	name, options, _ := strings.Cut(sf.Tag.Get("hyperparameter"), ",")
	f.name = name
	if f.name == "" {
		f.name = snakeCase(sf.Name)
	}
	for _, option := range splitList(options) {
		switch option {
		case "required":
			f.required = true
		case "verbatim":
			f.verbatim = true
		default:
			f.panicf("no option is called %q", option)
		}
	}
	f.defaultText, f.hasDefault = sf.Tag.Lookup("default")
	if w := asWorded(reflect.New(sf.Type).Elem()); w != nil && !f.hasDefault && !f.required {
		f.defaultText = w.zeroWord()
		f.hasDefault = f.defaultText != ""
	}
	f.aka = splitList(sf.Tag.Get("aka"))
	f.enum = splitList(sf.Tag.Get("enum"))
	if text, ok := sf.Tag.Lookup("range"); ok {
		within, err := parseInterval(text)
		if err != nil {
			f.panicf("%v", err)
		}
		f.within = &within
	}
	return f
}

// overrideDefaults applies the default tag of an embedded struct, such as
// "epochs=1,mini_batch_size=500", to its fields.
func overrideDefaults(fields []*field, goName, tag string) {
	for _, part := range splitList(tag) {
		name, text, _ := strings.Cut(part, "=")
		i := slices.IndexFunc(fields, func(f *field) bool { return f.name == name })
		if i < 0 {
			panic(fmt.Sprintf("hyperparams: %s: default %q: want name=value, of one of its fields", goName, part))
		}
		fields[i].defaultText, fields[i].hasDefault = text, true
		fields[i].required = false
	}
}

// verify panics if what the tags say does not fit the type or each other.
func (f *field) verify() {
	if f.hasDefault && (f.required || f.optional) {
		f.panicf("a required field or a pointer takes no default")
	}
	if f.verbatim && f.typ.Kind() != reflect.String && !(f.optional && f.typ.Elem().Kind() == reflect.String) {
		f.panicf("verbatim is for strings, not for %v", f.typ)
	}
	if err := f.fits(f.typ); err != nil {
		f.panicf("%v", err)
	}
	if f.hasDefault {
		if err := f.decode(reflect.New(f.typ).Elem(), f.defaultText); err != nil {
			f.panicf("default: %v", err)
		}
	}
}

func (f *field) panicf(format string, args ...any) {
	panic("hyperparams: " + f.goName + ": " + fmt.Sprintf(format, args...))
}

func (d *declaration) declares(name string) bool {
	return slices.ContainsFunc(d.fields, func(f *field) bool { return f.name == name })
}

// splitList splits a tag at its commas; nothing gives nil.
func splitList(tag string) []string {
	if tag == "" {
		return nil
	}
	parts := strings.Split(tag, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

// snakeCase turns HTTPPort into http_port, FeatureDim into feature_dim, L1 into l1.
func snakeCase(goName string) string {
	runes := []rune(goName)
	var b strings.Builder
	for i, r := range runes {
		if i > 0 && unicode.IsUpper(r) {
			afterWord := unicode.IsLower(runes[i-1])
			beforeWord := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if afterWord || beforeWord {
				b.WriteByte('_')
			}
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
