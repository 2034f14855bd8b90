package value

import "fmt"

// The built-in error types (spec/06-errors.md). An error value is a struct. Its slots are the
// message, the other fields of the type, and the source. The source is nil or the wrapped error;
// programs do not see it as a field.

var (
	tString = &Type{Kind: TypeString}
	tInt    = &Type{Kind: TypeInt}
	tBool   = &Type{Kind: TypeBool}
	tFloat  = &Type{Kind: TypeFloat}
	tAny    = &Type{Kind: TypeAny}
	tAnys   = &Type{Kind: TypeArray, Args: []*Type{tAny}}
	tTexts  = &Type{Kind: TypeArray, Args: []*Type{tString}}
)

// optionalOwnField returns a field of type String or Bool. JSON omits the field if it is empty or
// false.
func optionalOwnField(name string, t *Type) Field { return Field{Name: name, Type: t, Optional: true} }

// ownField returns a field of an error type. If name ends in "?", the field is optional, and nil if
// it is not set. The default of any other field is the zero value of its type. Inlined in the table
// below, it would be 8 KB of code in each program.
//
//go:noinline
func ownField(name string, t *Type) Field {
	if name[len(name)-1] == '?' {
		return Field{Name: name[:len(name)-1], Type: &Type{Kind: TypeOption, Args: []*Type{t}}, Optional: true}
	}
	return Field{Name: name, Type: t}
}

//go:noinline
func errorType(name string, fields ...Field) *Type {
	return &Type{Kind: TypeError, Name: name, Fields: append([]Field{{Name: "message", Type: tString}}, fields...)}
}

// ErrorTypes contains the built-in error types. The first field of each is message.
var ErrorTypes = []*Type{
	errorType("AgentError", ownField("model", tString), ownField("provider", tString), ownField("status?", tInt), ownField("raw_response?", tString),
		ownField("reason", tString), ownField("retryable", tBool), ownField("request_id?", tString), ownField("category?", tString)),
	errorType("SchemaError", ownField("schema", tString), ownField("raw_response?", tString)),
	errorType("ToolError", ownField("tool", tString), optionalOwnField("reason", tString), optionalOwnField("unknown", tBool)),
	errorType("ConnectionError", ownField("connection", tString), ownField("status?", tInt)),
	errorType("TimeoutError", ownField("timeout_seconds", tFloat)),
	errorType("HostError", ownField("code?", tString), ownField("recoverable?", tBool), ownField("host", tString), ownField("exit_code?", tInt), ownField("stderr?", tString),
		ownField("session?", tString), ownField("tasks?", tAnys), ownField("result?", tAny), ownField("wait_until?", tInt)),
	errorType("HashMapError", ownField("key?", tString), optionalOwnField("unknown", tBool)),
	errorType("EmitError", ownField("channel", tString), ownField("reason", tString)),
	errorType("JsonError", ownField("offset", tInt), ownField("line", tInt), ownField("column", tInt)),
	errorType("HttpError", ownField("url", tString), ownField("status?", tInt), optionalOwnField("unknown", tBool)),
	errorType("FsError", ownField("path", tString), optionalOwnField("unknown", tBool)),
	errorType("EnvError", ownField("name", tString)),
	errorType("ParseError", ownField("input", tString)),
	errorType("FormatError", ownField("line", tInt), ownField("column", tInt)),
	errorType("RuntimeError"),
	errorType("QueueError", ownField("code", tString), ownField("id?", tString)),
	errorType("JudgeError", ownField("agent", tString), ownField("reason", tString)),
	errorType("FleetError", ownField("code", tString)),
	errorType("GitError", ownField("code", tString), ownField("workspace", tString), ownField("command", tTexts), ownField("exit_code?", tInt), ownField("stderr?", tString),
		ownField("unknown", tBool)),
	errorType("MergeConflict", ownField("workspace", tString), ownField("into", tString), ownField("paths", tTexts)),
	errorType("GateFailed", ownField("workspace", tString), ownField("into", tString), ownField("command", tTexts), ownField("exit_code?", tInt), ownField("output", tString),
		ownField("on_target", tBool)),
}

// ErrorType returns the built-in error type with a name, or nil if there is none.
func ErrorType(name string) *Type {
	for _, t := range ErrorTypes {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// ErrorField is the value of a field of an error, by name.
type ErrorField struct {
	Name  string
	Value Slot
}

// NewError returns a value of the built-in error type kind. Fields that the type does not have are
// ignored. Missing fields are nil or the zero value of their type. NewError panics if the type does
// not exist.
func NewError(kind, message string, fields ...ErrorField) Slot {
	t := ErrorType(kind)
	if t == nil {
		panic("value: no error type " + kind)
	}
	s := t.Error(String(message))
	slots := s.Fields()
	for _, f := range fields {
		if i := t.FieldIndex(f.Name); i > 0 {
			slots[i] = f.Value
		} else if f.Name == "source" {
			slots[len(slots)-1] = f.Value
		}
	}
	return s
}

// Error returns a value of a built-in error type with its first fields. The others are nil or the
// zero value of their type.
func (t *Type) Error(fields ...Slot) Slot {
	slots := make([]Slot, len(t.Fields)+1)
	for i := copy(slots, fields); i < len(t.Fields); i++ {
		slots[i] = zero(t.Fields[i].Type)
	}
	return New(KindStruct, 0, t, slots...)
}

func zero(t *Type) Slot {
	switch t.Kind {
	case TypeString:
		return String("")
	case TypeInt:
		return Int(0)
	case TypeBool:
		return Bool(false)
	case TypeFloat:
		return Float(0)
	case TypeArray:
		return NewArray().Slot()
	}
	return Nil
}

// IsError reports whether s is a value of a built-in error type.
func IsError(s Slot) bool {
	if s.Kind() != KindStruct {
		return false
	}
	t := s.Type()
	return t != nil && t.Kind == TypeError
}

// Message returns the message of a value that was thrown: its String field `message`, or its text.
func Message(s Slot) string {
	s = Flatten(s)
	if v, ok := FieldByName(s, "message"); ok && v.Kind() == KindString {
		return v.AsString()
	}
	return Text(s)
}

// ErrorKind returns the kind of a value that was thrown, which is the name of its type.
func ErrorKind(s Slot) string { return TypeName(Flatten(s)) }

// Source returns the error that s wraps, or nil.
func Source(s Slot) Slot {
	s = Flatten(s)
	if IsError(s) {
		f := s.Fields()
		return f[len(f)-1]
	}
	if v, ok := FieldByName(s, "source"); ok {
		return v
	}
	return Nil
}

// WithOrigin returns a copy of a value of a library struct or schema that also contains its origin,
// which programs do not see: for a score, the hash of its judge.
func WithOrigin(s, origin Slot) Slot {
	t := s.Type()
	slots := append(append(make([]Slot, 0, len(t.Fields)+1), s.Fields()[:len(t.Fields)]...), origin)
	for _, f := range slots {
		Share(f)
	}
	return New(KindStruct, 0, t, slots...)
}

// Origin returns the origin of a value, or "" if it has none.
func Origin(s Slot) string {
	if s.Kind() != KindStruct || IsError(s) {
		return ""
	}
	if f, n := s.Fields(), len(s.Type().Fields); len(f) > n {
		return f[n].AsString()
	}
	return ""
}

// WithContext returns an error whose message is `text: ` and the message of s, and whose source is
// s. If s is not an error, the result is a RuntimeError.
func WithContext(s Slot, text string) Slot {
	s = Flatten(s)
	Share(s)
	if !IsError(s) {
		return NewError("RuntimeError", text+": "+Message(s), ErrorField{"source", s})
	}
	c := Copy(s)
	f := c.Fields()
	f[0], f[len(f)-1] = String(text+": "+Message(s)), s
	return c
}

// FieldByName returns a field of a struct, schema value or error, or the value of a String key in a
// map. A struct with Members has every field; the field is nil if its map has no such entry.
func FieldByName(s Slot, name string) (v Slot, ok bool) {
	switch s.Kind() {
	case KindStruct:
		t := s.Type()
		if i := t.FieldIndex(name); i >= 0 {
			return s.Fields()[i], true
		}
		if t.Members {
			v, _ = s.Fields()[len(t.Fields)-1].Map().GetString(name)
			return v, true
		}
	case KindMap:
		return s.Map().GetString(name)
	}
	return Nil, false
}

// Error is an error of the program as a Go error. Natives return it to raise a built-in error.
type Error struct {
	Kind    string // name of the error type, such as "ParseError"
	Message string
	Fields  []ErrorField
}

// Errorf returns an Error of the built-in type kind.
func Errorf(kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// With sets an additional field and returns the error.
func (e *Error) With(name string, v Slot) *Error {
	e.Fields = append(e.Fields, ErrorField{name, v})
	return e
}

func (e *Error) Error() string { return e.Message }

// Slot returns the error as a value.
func (e *Error) Slot() Slot { return NewError(e.Kind, e.Message, e.Fields...) }

// Fault is a misuse at run time as a Go error, such as an index out of range. It is raised as a
// RuntimeError and never becomes an Err.
type Fault struct{ Message string }

// Faultf returns a Fault.
func Faultf(format string, args ...any) *Fault { return &Fault{fmt.Sprintf(format, args...)} }

// SliceMessage returns the error message for a slice from..to of something with length n.
func SliceMessage(from, to int64, n int) string {
	if to < from && from <= int64(n) { // otherwise from is out of range by itself
		return fmt.Sprintf("slice %d..%d begins after its end", from, to)
	}
	return fmt.Sprintf("slice %d..%d is out of range: the length is %d", from, to, n)
}

func (f *Fault) Error() string { return f.Message }
