package api

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// limitsJSON is taken from the service's model by testdata/limits.py. It has the limits of members by
// the SDK's name of the struct.
//
//go:embed limits.json
var limitsJSON []byte

// A limit is what the model says of a member: of the length of strings, lists and maps, and of the
// value of numbers.
type limit struct {
	Required bool
	Min, Max *float64
	Pattern  string
	Key      *limit // of a map
	Element  *limit // of a map or a list

	regex *regexp.Regexp
}

var limits = sync.OnceValue(func() map[string]map[string]*limit {
	var table struct{ Shapes map[string]map[string]*limit }
	if err := json.Unmarshal(limitsJSON, &table); err != nil {
		panic(err) // our own file
	}
	for _, members := range table.Shapes {
		for _, l := range members {
			l.compile()
		}
	}
	overrule(table.Shapes)
	return table.Shapes
})

// overrule adds what holds besides the model: members that container jobs need in effect, the longest
// time a job may run, and the shortest that it may be told to wait, which newer models lower (container contract, 4.2 and 1.10).
func overrule(shapes map[string]map[string]*limit) {
	job := shapes["CreateTrainingJobInput"]
	for _, member := range []string{"AlgorithmSpecification", "ResourceConfig", "StoppingCondition"} {
		if job[member] == nil {
			job[member] = &limit{}
		}
		job[member].Required = true
	}
	longest := float64(28 * 24 * 60 * 60)
	shapes["StoppingCondition"]["MaxRuntimeInSeconds"].Max = &longest
	shortest := float64(2 * 60 * 60)
	shapes["StoppingCondition"]["MaxPendingTimeInSeconds"].Min = &shortest
}

// dialectOfRE2 says in RE2 what the model says in Java. A repetition beyond RE2's thousand is left to the
// limit of the length.
var dialectOfRE2 = strings.NewReplacer(
	`([a-zA-Z0-9]([a-zA-Z0-9-]){0,62})(?<!-)`, `[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?`,
	`\p{Alnum}`, `a-zA-Z0-9`, `{0,1023}`, `*`, `{1,2048}`, `+`,
)

func (l *limit) compile() {
	if l.Pattern != "" {
		l.regex = regexp.MustCompile(`\A(?:` + dialectOfRE2.Replace(l.Pattern) + `)\z`)
	}
	for _, part := range []*limit{l.Key, l.Element} {
		if part != nil {
			part.compile()
		}
	}
}

// checkLimits returns one ValidationException with everything in a request that breaks a limit of its members.
func checkLimits(in any) error {
	var c checker
	c.structure(reflect.ValueOf(in).Elem(), "")
	return c.err()
}

// A checker collects violations.
type checker struct {
	violations []string
}

func (c *checker) err() error {
	if len(c.violations) == 0 {
		return nil
	}
	errors := "errors"
	if len(c.violations) == 1 {
		errors = "error"
	}
	return invalid("%d validation %s detected: %s", len(c.violations), errors, strings.Join(c.violations, "; "))
}

// violate adds a violation in the service's words. Of a long value only the beginning is shown.
func (c *checker) violate(value, path, constraint string) {
	const shown, most = 256, 100
	if value != "null" {
		if len(value) > shown {
			value = strings.ToValidUTF8(value[:shown], "") + "..."
		}
		value = "'" + value + "'"
	}
	if len(c.violations) < most {
		c.violations = append(c.violations, fmt.Sprintf("Value %s at '%s' failed to satisfy constraint: %s", value, path, constraint))
	}
}

func (c *checker) structure(v reflect.Value, path string) {
	members := limits()[v.Type().Name()]
	for _, field := range shapeFields(v.Type()) {
		c.member(v.FieldByIndex(field.Index), members[field.Name], join(path, lowerCamel(field.Name)))
	}
}

func (c *checker) member(v reflect.Value, l *limit, path string) {
	if unset(v) {
		if l != nil && l.Required {
			c.violate("null", path, "Member must not be null")
		}
		return
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Type() == timeType {
		return
	}
	if v.Kind() != reflect.Struct {
		for _, constraint := range l.broken(v) {
			c.violate(display(v), path, constraint)
		}
	}
	switch v.Kind() {
	case reflect.Struct:
		c.structure(v, path)
	case reflect.Slice:
		c.list(v, l, path)
	case reflect.Map:
		c.table(v, l, path)
	}
}

// list checks a list's elements. Those that are structures are named singly, others together.
func (c *checker) list(v reflect.Value, l *limit, path string) {
	if v.Type().Elem().Kind() == reflect.Struct {
		for i := range v.Len() {
			c.structure(v.Index(i), fmt.Sprintf("%s.%d.member", path, i+1))
		}
		return
	}
	if l == nil {
		l = &limit{}
	}
	for i := range v.Len() {
		if len(l.Element.broken(v.Index(i))) > 0 {
			c.violate(display(v), path, "Member must satisfy constraint: ["+strings.Join(l.Element.words(v.Type().Elem()), ", ")+"]")
			return
		}
	}
}

func (c *checker) table(v reflect.Value, l *limit, path string) {
	if l == nil || v.Type().Elem().Kind() != reflect.String {
		return
	}
	badKey, badValue := false, false
	for key, element := range v.Seq2() {
		badKey = badKey || len(l.Key.broken(key)) > 0
		badValue = badValue || len(l.Element.broken(element)) > 0
	}
	if badKey {
		c.violate(display(v), path, "Map keys must satisfy constraint: ["+strings.Join(l.Key.words(v.Type().Key()), ", ")+"]")
	}
	if badValue {
		c.violate(display(v), path, "Map value must satisfy constraint: ["+strings.Join(l.Element.words(v.Type().Elem()), ", ")+"]")
	}
}

// broken returns the constraints that a value breaks. A nil limit still has the values of an enum.
func (l *limit) broken(v reflect.Value) []string {
	if l == nil {
		l = &limit{}
	}
	var broken []string
	kind, size := "length", 0.0
	switch v.Kind() {
	case reflect.String:
		size = float64(utf8.RuneCountInString(v.String()))
	case reflect.Slice, reflect.Map:
		size = float64(v.Len())
	case reflect.Int32, reflect.Int64:
		kind, size = "value", float64(v.Int())
	case reflect.Float32, reflect.Float64:
		kind, size = "value", v.Float()
	default:
		return nil
	}
	if l.Max != nil && size > *l.Max {
		broken = append(broken, atMost(kind, *l.Max))
	}
	if l.Min != nil && size < *l.Min {
		broken = append(broken, atLeast(kind, *l.Min))
	}
	if l.regex != nil && v.Kind() == reflect.String && !l.regex.MatchString(v.String()) {
		broken = append(broken, "Member must satisfy regular expression pattern: "+l.Pattern)
	}
	if values := enum(v.Type()); values != nil && !slices.Contains(values, v.String()) {
		broken = append(broken, enumWords(values))
	}
	return broken
}

// words are all constraints of an element, which the service lists when one is broken.
func (l *limit) words(t reflect.Type) []string {
	if l == nil {
		l = &limit{}
	}
	var words []string
	if l.Max != nil {
		words = append(words, atMost("length", *l.Max))
	}
	if l.Min != nil {
		words = append(words, atLeast("length", *l.Min))
	}
	if l.Pattern != "" {
		words = append(words, "Member must satisfy regular expression pattern: "+l.Pattern)
	}
	if values := enum(t); values != nil {
		words = append(words, enumWords(values))
	}
	return words
}

func atMost(kind string, n float64) string {
	return "Member must have " + kind + " less than or equal to " + strconv.FormatFloat(n, 'f', -1, 64)
}

func atLeast(kind string, n float64) string {
	return "Member must have " + kind + " greater than or equal to " + strconv.FormatFloat(n, 'f', -1, 64)
}

func enumWords(values []string) string {
	return "Member must satisfy enum value set: [" + strings.Join(values, ", ") + "]"
}

// enum returns the values of one of the SDK's enums, nil for other types.
func enum(t reflect.Type) []string {
	if t.Kind() != reflect.String {
		return nil
	}
	method, ok := t.MethodByName("Values")
	if !ok {
		return nil
	}
	var values []string
	for _, v := range method.Func.Call([]reflect.Value{reflect.Zero(t)})[0].Seq2() {
		values = append(values, v.String())
	}
	return values
}

// display is a value as the service's messages show it, which are Java's.
func display(v reflect.Value) string {
	const elements = 16 // more would be cut off
	switch v.Kind() {
	case reflect.Slice:
		var parts []string
		for i := range min(v.Len(), elements) {
			parts = append(parts, display(v.Index(i)))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case reflect.Map:
		m, parts := stringMap(v), []string(nil)
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if parts = append(parts, key+"="+m[key]); len(parts) == elements {
				break
			}
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case reflect.Struct:
		return v.Type().Name()
	}
	return fmt.Sprint(v.Interface())
}

func stringMap(v reflect.Value) map[string]string {
	m := make(map[string]string, v.Len())
	for key, element := range v.Seq2() {
		m[key.String()] = fmt.Sprint(element.Interface())
	}
	return m
}
