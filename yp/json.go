package yp

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// JSON writes v as JSON with a line end, indented by indent, as encoding/json does, but for three things: a time.Time is
// written in TimeLayout, the zero one as null; "&" and "<" stay as they are; and control characters that encoding/json leaves
// (bidi overrides, C1) are escaped, so that no name acts on a terminal.
func JSON(v any, indent string) ([]byte, error) {
	text, err := appendValue(nil, reflect.ValueOf(v))
	if err != nil {
		return nil, err
	}
	if indent == "" {
		return append(text, '\n'), nil
	}
	var out bytes.Buffer
	err = json.Indent(&out, text, "", indent)
	return append(out.Bytes(), '\n'), err
}

func appendValue(b []byte, v reflect.Value) ([]byte, error) {
	if !v.IsValid() {
		return append(b, "null"...), nil
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return appendValue(b, v.Elem()) // of nil not valid
	case reflect.Map, reflect.Slice:
		if v.IsNil() {
			return append(b, "null"...), nil
		}
	}
	x := v.Interface()
	if v.CanAddr() {
		x = v.Addr().Interface() // has the methods of both
	}
	switch t := x.(type) {
	case time.Time:
		return appendTime(b, t), nil
	case *time.Time:
		return appendTime(b, *t), nil
	case json.Marshaler:
		return appendMarshaled(b, t)
	}
	kind := v.Kind()
	if t := v.Type(); kind == reflect.Slice && t.Elem().Kind() == reflect.Uint8 || kind == reflect.Map && t.Key().Kind() != reflect.String {
		kind = reflect.Invalid // bytes, and keys that are numbers: there are no times in them
	}
	switch kind {
	case reflect.String:
		return AppendJSON(b, v.String()), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.AppendInt(b, v.Int(), 10), nil
	case reflect.Slice, reflect.Array:
		b = append(b, '[')
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ',')
			}
			var err error
			if b, err = appendValue(b, v.Index(i)); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	case reflect.Map:
		return appendMap(b, v)
	case reflect.Struct:
		b, err := appendFields(append(b, '{'), v)
		return append(bytes.TrimSuffix(b, []byte{','}), '}'), err
	}
	return appendMarshaled(b, x)
}

// appendMarshaled leaves a value to encoding/json.
func appendMarshaled(b []byte, x any) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false) // "&" is common in names
	err := enc.Encode(x)
	return append(b, EscapeJSON(bytes.TrimSuffix(text.Bytes(), []byte{'\n'}))...), err
}

func appendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(b, "null"...)
	}
	return append(t.UTC().AppendFormat(append(b, '"'), TimeLayout), '"')
}

// appendMap writes a map whose keys are texts.
func appendMap(b []byte, v reflect.Value) (_ []byte, err error) {
	all := map[string]reflect.Value{}
	for entry := v.MapRange(); entry.Next(); {
		all[entry.Key().String()] = entry.Value()
	}
	b = append(b, '{')
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if b, err = appendValue(append(AppendJSON(b, key), ':'), all[key]); err != nil {
			return nil, err
		}
		b = append(b, ',')
	}
	return append(bytes.TrimSuffix(b, []byte{','}), '}'), nil
}

// appendFields writes the fields of a struct, those of embedded ones in place, each with a comma behind it.
func appendFields(b []byte, v reflect.Value) (_ []byte, err error) {
	for i := range v.NumField() {
		f, field := v.Type().Field(i), v.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous || options == "omitempty" && empty(field):
			continue
		case f.Anonymous && name == "":
			if embedded := reflect.Indirect(field); embedded.IsValid() {
				b, err = appendFields(b, embedded)
			}
		default:
			if name == "" {
				name = f.Name
			}
			if b, err = appendValue(append(AppendJSON(b, name), ':'), field); err == nil {
				b = append(b, ',')
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return b, nil
}

// empty is what "omitempty" leaves out.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.Array:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}
