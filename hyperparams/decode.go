package hyperparams

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// decode sets v, which can be of any supported type, from the text in the map.
func (r rule) decode(v reflect.Value, text string) error {
	if !r.verbatim {
		text = unquote(text)
	}
	return r.set(v, text)
}

// set is decode without the quotes.
func (r rule) set(v reflect.Value, text string) error {
	if w := asWorded(v); w != nil {
		return r.setWorded(w, text)
	}
	if !readsText(v.Type()) {
		switch v.Kind() {
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
			return r.set(v.Elem(), text)
		case reflect.Slice:
			return r.setList(v, text)
		}
	}
	if err := scan(v, text); err != nil {
		return fmt.Errorf("%s: %w", show(text), err)
	}
	if !r.allows(v) {
		return fmt.Errorf("%s: must be %v", show(text), r)
	}
	return nil
}

// setWorded sets w to one of its words, or else to the value that text stands for.
func (r rule) setWorded(w worded, text string) error {
	words, inner := w.split(r)
	if word := strings.TrimSpace(text); slices.Contains(words, word) {
		w.setWord(word)
		return nil
	}
	if err := inner.set(w.place(), text); err != nil {
		return fmt.Errorf("%w or %s", err, strings.Join(words, " or "))
	}
	return nil
}

// setList sets the slice v from a JSON list or, for plain elements, what stands
// between commas.
func (r rule) setList(v reflect.Value, text string) error {
	elem := v.Type().Elem()
	texts, err := elements(text, readsText(elem) || isPlain(elem))
	if err != nil {
		return fmt.Errorf("%s: %w", show(text), err)
	}
	list := reflect.MakeSlice(v.Type(), len(texts), len(texts))
	for i, text := range texts {
		if err := r.set(list.Index(i), unquote(text)); err != nil {
			return err
		}
	}
	v.Set(list)
	return nil
}

func elements(text string, plain bool) ([]string, error) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "[") || text == "" || !plain {
		var raw []json.RawMessage
		if json.Unmarshal([]byte(text), &raw) != nil || raw == nil {
			return nil, errors.New("not a JSON list")
		}
		texts := make([]string, len(raw))
		for i, element := range raw {
			texts[i] = string(element)
			if texts[i] == "null" {
				return nil, errors.New("holds a null")
			}
		}
		return texts, nil
	}
	texts := strings.Split(text, ",")
	for i := range texts {
		texts[i] = strings.TrimSpace(texts[i])
	}
	return texts, nil
}
