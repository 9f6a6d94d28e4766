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
type Value struct {
	at      gjson.Result
	members []Member // of an object, see Indexed; nil = they are looked for in the text
}

// Member is a member of an object.
type Member struct {
	key   string
	value gjson.Result
}

// Indexed returns an object whose members are found at once, with the memory of buf, which is not to be used for another value as
// long as this one is; of anything else the value as it is. It is for values of which many paths are asked.
func (v Value) Indexed(buf []Member) Value {
	if v.Kind() != Object {
		return v
	}
	v.members = buf[:0]
	v.at.ForEach(func(key, item gjson.Result) bool {
		v.members = append(v.members, Member{key.Str, item})
		return len(v.members) < maxIndexed
	})
	if len(v.members) == maxIndexed {
		v.members = nil
	}
	return v
}

// Members returns the memory of the index, to be used again.
func (v Value) Members() []Member { return v.members }

// maxIndexed bounds the members that are indexed: of more, each name would take long to find.
const maxIndexed = 200

// member returns the first member of that name of an indexed object.
func (v Value) member(key string) Value {
	for i := range v.members {
		if v.members[i].key == key {
			return Value{at: v.members[i].value}
		}
	}
	return Value{}
}

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

// Raw returns the value as it is written, "" for the zero Value.
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
			return yield(Value{at: item})
		})
	}
}
