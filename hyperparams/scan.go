package hyperparams

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	durationType        = reflect.TypeFor[time.Duration]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// readsText reports whether a variable of type t parses its own text.
func readsText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(textUnmarshalerType)
}

// isPlain reports whether t is written as a single word or number.
func isPlain(t reflect.Type) bool {
	return t.Kind() == reflect.String || t.Kind() == reflect.Bool || isNumber(t)
}

func isNumber(t reflect.Type) bool {
	v := reflect.Zero(t)
	return !readsText(t) && (v.CanInt() || v.CanFloat() || v.CanUint() && t.Kind() != reflect.Uintptr)
}

// readable reports whether scan knows the type t.
func readable(t reflect.Type) bool {
	return readsText(t) || isPlain(t) || t.Kind() == reflect.Map || t.Kind() == reflect.Struct
}

// scan sets v, neither a list nor a pointer, to the value that text stands for.
func scan(v reflect.Value, text string) error {
	if readsText(v.Type()) {
		return scanText(v, text)
	}
	if v.Kind() == reflect.String {
		v.SetString(text)
		return nil
	}
	text = strings.TrimSpace(text)
	switch {
	case v.Type() == durationType:
		return scanDuration(v, text)
	case v.CanInt():
		return scanInt(v, text)
	case v.CanUint():
		return scanUint(v, text)
	case v.CanFloat():
		return scanFloat(v, text)
	case v.Kind() == reflect.Bool:
		return scanBool(v, text)
	default:
		return scanObject(v, text)
	}
}

func scanText(v reflect.Value, text string) error {
	if text == "" && v.Kind() != reflect.String {
		return errors.New("must not be empty")
	}
	return clipped(v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)))
}

func scanInt(v reflect.Value, text string) error {
	digits, err := integer(text)
	if err != nil {
		return err
	}
	bits := v.Type().Bits()
	n, err := strconv.ParseInt(digits, 10, bits)
	if err != nil {
		return fmt.Errorf("must be in [%d,%d]", math.MinInt64>>(64-bits), math.MaxInt64>>(64-bits))
	}
	v.SetInt(n)
	return nil
}

func scanUint(v reflect.Value, text string) error {
	digits, err := integer(text)
	if err != nil {
		return err
	}
	bits := v.Type().Bits()
	n, err := strconv.ParseUint(digits, 10, bits)
	if err != nil {
		return fmt.Errorf("must be in [0,%d]", uint64(math.MaxUint64)>>(64-bits))
	}
	v.SetUint(n)
	return nil
}

var decimal = regexp.MustCompile(`^([+-]?)(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$`)

// integer returns the plain digits, with a minus if negative, of an integral number
// such as 3, 3.0 or 1e3. It works on the text, as a float64 would round long ones.
func integer(text string) (string, error) {
	errNot := errors.New("not an integer")
	parts := decimal.FindStringSubmatch(text)
	if parts == nil {
		return "", errNot
	}
	sign, digits := strings.TrimPrefix(parts[1], "+"), parts[2]+parts[3]
	if strings.Trim(digits, "0") == "" {
		return "0", nil
	}
	exponent := 0
	if parts[4] != "" {
		var err error
		if exponent, err = strconv.Atoi(parts[4]); err != nil || exponent < -len(digits) {
			return "", errNot
		}
	}
	shift := exponent - len(parts[3]) // zeros to append, or if negative digits to cut
	if shift >= 0 {
		const longest = len("18446744073709551615")
		return sign + digits + strings.Repeat("0", min(shift, longest)), nil
	}
	kept := max(len(digits)+shift, 0)
	if strings.Trim(digits[kept:], "0") != "" {
		return "", errNot
	}
	return sign + digits[:kept], nil
}

func scanFloat(v reflect.Value, text string) error {
	x, err := strconv.ParseFloat(text, v.Type().Bits())
	if errors.Is(err, strconv.ErrSyntax) {
		return errors.New("not a number")
	}
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return errors.New("not a finite number")
	}
	v.SetFloat(x)
	return nil
}

func scanBool(v reflect.Value, text string) error {
	switch {
	case strings.EqualFold(text, "true"), text == "1":
		v.SetBool(true)
	case strings.EqualFold(text, "false"), text == "0":
		v.SetBool(false)
	default:
		return errors.New("not a bool")
	}
	return nil
}

func scanDuration(v reflect.Value, text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		seconds, err := strconv.ParseFloat(text, 64)
		ns := math.Round(seconds * float64(time.Second))
		if err != nil || !(math.Abs(ns) < math.MaxInt64) {
			return errors.New("not a duration (such as 90, in seconds, or 1m30s)")
		}
		d = time.Duration(ns)
	}
	v.SetInt(int64(d))
	return nil
}

func scanObject(v reflect.Value, text string) error {
	if !strings.HasPrefix(text, "{") {
		return errors.New("not a JSON object")
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields() // a misspelt key is as bad as a misspelt name
	if err := d.Decode(v.Addr().Interface()); err != nil {
		return clipped(fmt.Errorf("not the JSON object expected: %w", err))
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("not a single JSON object")
	}
	return nil
}

// number returns the number in v; a duration counts its seconds, and a float32 is the
// decimal it was written as, so that 0.1 is in [0,0.1].
func number(v reflect.Value) float64 {
	switch {
	case v.Type() == durationType:
		return time.Duration(v.Int()).Seconds()
	case v.CanInt():
		return float64(v.Int())
	case v.CanUint():
		return float64(v.Uint())
	case v.Kind() == reflect.Float32:
		x, _ := strconv.ParseFloat(strconv.FormatFloat(v.Float(), 'g', -1, 32), 64)
		return x
	default:
		return v.Float()
	}
}
