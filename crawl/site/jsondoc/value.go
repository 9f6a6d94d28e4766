package jsondoc

import (
	"iter"

	"github.com/tidwall/gjson"
)

// Kind is what a value is in JSON.
type Kind int

// The kinds of values. None is that of the zero Value, which stands nowhere.
const (
	None Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// Value is a value of a JSON text that Parse has read.
type Value struct{ at gjson.Result }

// Kind returns what the value is.
func (v Value) Kind() Kind {
	switch v.at.Type {
	case gjson.True, gjson.False:
		return Bool
	case gjson.Number:
		return Number
	case gjson.String:
		return String
	case gjson.JSON:
		if v.at.Raw[0] == '[' {
			return Array
		}
		return Object
	}
	if v.at.Raw == "" {
		return None
	}
	return Null
}

// Text returns what a scalar says: a string decoded, a number as it is written (1.10, 1e3), true or false. null, arrays
// and objects say nothing.
func (v Value) Text() string {
	switch v.at.Type {
	case gjson.String:
		return v.at.Str
	case gjson.Number, gjson.True, gjson.False:
		return v.at.Raw
	}
	return ""
}

// Raw returns the value as it is written, "" for one that stands nowhere.
func (v Value) Raw() string { return v.at.Raw }

// Items returns the elements of an array, or the values of an object's members, of those of one name the first; of
// any other value nothing.
func (v Value) Items() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		var seen map[string]bool
		switch v.Kind() {
		case Array:
		case Object:
			seen = map[string]bool{}
		default:
			return
		}
		v.at.ForEach(func(key, item gjson.Result) bool {
			if seen != nil {
				if seen[key.Str] {
					return true
				}
				seen[key.Str] = true
			}
			return yield(Value{item})
		})
	}
}
