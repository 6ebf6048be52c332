package api

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"reflect"
	"strings"
	"time"
	"unicode"
)

// Unmarshal decodes an AWS JSON 1.1 document, such as the body of CreateTrainingJob or what the AWS CLI
// takes as --cli-input-json, into one of the SDK's shapes. Members that the shape lacks are ignored,
// as are nulls; one of the wrong type is a SerializationException.
func Unmarshal(text []byte, shape any) error { return dialect{}.unmarshal(text, shape) }

// Marshal encodes one of the SDK's shapes as AWS JSON 1.1. Members that are not set are left out.
func Marshal(shape any) ([]byte, error) { return dialect{}.marshal(shape) }

// A dialect says how a service spells the members that the SDK's structs have.
type dialect struct {
	lower bool // with a small first letter, as CloudWatch Logs does
}

func (d dialect) member(field string) string {
	if d.lower {
		return strings.ToLower(field[:1]) + field[1:]
	}
	return field
}

// shapeFields are the fields of an SDK struct that are members of the shape.
func shapeFields(t reflect.Type) []reflect.StructField {
	var fields []reflect.StructField
	for _, f := range reflect.VisibleFields(t) {
		if f.IsExported() && !f.Anonymous && f.Name != "ResultMetadata" {
			fields = append(fields, f)
		}
	}
	return fields
}

// maxDepth is how deep a document may be nested; the deepest shape here has about ten levels.
const maxDepth = 64

func (d dialect) unmarshal(text []byte, shape any) error {
	if len(bytes.TrimSpace(text)) == 0 { // botocore sends {}; others send nothing
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var document any
	err := decoder.Decode(&document)
	if err == nil {
		if _, end := decoder.Token(); !errors.Is(end, io.EOF) {
			err = errors.New("more after the document's end")
		}
	}
	if err != nil {
		return serialization("the body is not JSON: %v", err)
	}
	return d.assign(reflect.ValueOf(shape).Elem(), document, "", 0)
}

var timeType = reflect.TypeFor[time.Time]()

// assign puts a JSON value into a shape's member. path is where it stands in the document.
func (d dialect) assign(to reflect.Value, from any, path string, depth int) error {
	if from == nil {
		return nil
	}
	if depth > maxDepth {
		return serialization("%.100s: nested too deeply", path)
	}
	switch {
	case to.Kind() == reflect.Pointer:
		value := reflect.New(to.Type().Elem())
		if err := d.assign(value.Elem(), from, path, depth); err != nil {
			return err
		}
		to.Set(value)
		return nil
	case to.Type() == timeType:
		return assignTime(to, from, path)
	}
	switch to.Kind() {
	case reflect.Struct:
		return d.assignStruct(to, from, path, depth)
	case reflect.Slice:
		return d.assignSlice(to, from, path, depth)
	case reflect.Map:
		return d.assignMap(to, from, path, depth)
	}
	return assignScalar(to, from, path)
}

func (d dialect) assignStruct(to reflect.Value, from any, path string, depth int) error {
	object, ok := from.(map[string]any)
	if !ok {
		return wrongType(path, "an object", from)
	}
	for _, field := range shapeFields(to.Type()) {
		name := d.member(field.Name)
		if err := d.assign(to.FieldByIndex(field.Index), object[name], join(path, name), depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (d dialect) assignSlice(to reflect.Value, from any, path string, depth int) error {
	if to.Type().Elem().Kind() == reflect.Uint8 {
		text, ok := from.(string)
		blob, err := base64.StdEncoding.DecodeString(text)
		if !ok || err != nil {
			return wrongType(path, "base64", from)
		}
		to.SetBytes(blob)
		return nil
	}
	list, ok := from.([]any)
	if !ok {
		return wrongType(path, "a list", from)
	}
	to.Set(reflect.MakeSlice(to.Type(), len(list), len(list)))
	for i, element := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		if element == nil {
			return wrongType(at, "a value", nil)
		}
		if err := d.assign(to.Index(i), element, at, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (d dialect) assignMap(to reflect.Value, from any, path string, depth int) error {
	object, ok := from.(map[string]any)
	if !ok {
		return wrongType(path, "an object", from)
	}
	to.Set(reflect.MakeMapWithSize(to.Type(), len(object)))
	for key, element := range object {
		if element == nil {
			return wrongType(join(path, key), "a value", nil)
		}
		value := reflect.New(to.Type().Elem()).Elem()
		if err := d.assign(value, element, join(path, key), depth+1); err != nil {
			return err
		}
		to.SetMapIndex(reflect.ValueOf(key).Convert(to.Type().Key()), value)
	}
	return nil
}

func assignScalar(to reflect.Value, from any, path string) error {
	switch to.Kind() {
	case reflect.String:
		if text, ok := from.(string); ok {
			to.SetString(text)
			return nil
		}
		return wrongType(path, "a string", from)
	case reflect.Bool:
		if value, ok := from.(bool); ok {
			to.SetBool(value)
			return nil
		}
		return wrongType(path, "a boolean", from)
	case reflect.Int32, reflect.Int64:
		if number, ok := from.(json.Number); ok {
			if value, err := number.Int64(); err == nil && !to.OverflowInt(value) {
				to.SetInt(value)
				return nil
			}
		}
		return wrongType(path, "an integer of "+fmt.Sprint(to.Type().Bits())+" bits", from)
	case reflect.Float32, reflect.Float64:
		if number, ok := from.(json.Number); ok {
			if value, err := number.Float64(); err == nil && !to.OverflowFloat(value) {
				to.SetFloat(value)
				return nil
			}
		}
		return wrongType(path, "a number", from)
	}
	return serialization("%.100s: values of %s are not supported here", path, to.Type())
}

// lastSecond is the end of the year 9999.
const lastSecond = 253402300800

func assignTime(to reflect.Value, from any, path string) error {
	number, ok := from.(json.Number)
	if !ok {
		return wrongType(path, "a time in Unix seconds", from)
	}
	seconds, err := number.Float64()
	if err != nil || math.Abs(seconds) >= lastSecond {
		return wrongType(path, "a time in Unix seconds", from)
	}
	whole, fraction := math.Modf(seconds)
	to.Set(reflect.ValueOf(time.Unix(int64(whole), int64(math.Round(fraction*1e6))*1000).UTC()))
	return nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func wrongType(path, want string, got any) error {
	kind := map[bool]string{true: "null"}[got == nil]
	switch got.(type) {
	case string:
		kind = "a string"
	case json.Number:
		kind = "a number"
	case bool:
		kind = "a boolean"
	case []any:
		kind = "a list"
	case map[string]any:
		kind = "an object"
	}
	if path == "" {
		path = "the body"
	}
	return serialization("%.200s: want %s, not %s", path, want, kind)
}

func (d dialect) marshal(shape any) ([]byte, error) {
	var out bytes.Buffer
	value := reflect.ValueOf(shape)
	if value.Kind() == reflect.Pointer {
		value = value.Elem()
	}
	if err := d.write(&out, value); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// unset reports whether a member is not there. A list that is empty and not nil is.
func unset(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return v.IsNil()
	}
	return v.IsZero() // enums, and the few numbers that are no pointers
}

func (d dialect) write(out *bytes.Buffer, v reflect.Value) error {
	switch {
	case v.Kind() == reflect.Pointer:
		return d.write(out, v.Elem())
	case v.Type() == timeType:
		out.WriteString(seconds(v.Interface().(time.Time)))
		return nil
	}
	switch v.Kind() {
	case reflect.Struct:
		return d.writeStruct(out, v)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			break
		}
		out.WriteByte('[')
		for i := range v.Len() {
			if i > 0 {
				out.WriteByte(',')
			}
			if err := d.write(out, v.Index(i)); err != nil {
				return err
			}
		}
		out.WriteByte(']')
		return nil
	case reflect.Map:
		return d.writeMap(out, v)
	case reflect.Interface:
		return fmt.Errorf("api: no way to encode %s", v.Type())
	}
	text, err := json.Marshal(v.Interface())
	out.Write(text)
	return err
}

func (d dialect) writeStruct(out *bytes.Buffer, v reflect.Value) error {
	out.WriteByte('{')
	some := false
	for _, field := range shapeFields(v.Type()) {
		member := v.FieldByIndex(field.Index)
		if unset(member) {
			continue
		}
		if some {
			out.WriteByte(',')
		}
		some = true
		fmt.Fprintf(out, "%q:", d.member(field.Name))
		if err := d.write(out, member); err != nil {
			return err
		}
	}
	out.WriteByte('}')
	return nil
}

func (d dialect) writeMap(out *bytes.Buffer, v reflect.Value) error {
	plain := map[string]json.RawMessage{} // encoding/json sorts the keys
	for key, element := range v.Seq2() {
		var text bytes.Buffer
		if err := d.write(&text, element); err != nil {
			return err
		}
		plain[key.String()] = text.Bytes()
	}
	text, err := json.Marshal(plain)
	out.Write(text)
	return err
}

// seconds is a time as a JSON number of Unix seconds, to the millisecond as the service gives it.
func seconds(t time.Time) string {
	return strings.TrimSuffix(new(big.Rat).SetFrac64(t.UnixMilli(), 1000).FloatString(3), ".000")
}

// lowerCamel is how messages of validation spell a member.
func lowerCamel(member string) string {
	r := []rune(member)
	r[0] = unicode.ToLower(r[0])
	return string(r)
}
