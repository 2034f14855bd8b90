package schema

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/jsonschema"
)

// The limits of answers.
const (
	maxProblems = 5 // errors about one answer in a message
	// recordDepth is the depth of an answer in the records that contain it. They are decoded with
	// the limit value.MaxDepth, too.
	recordDepth = 64
)

// CheckAnswer reports why a JSON text cannot be an answer. of is the JSON Schema of the question's
// type; nil accepts any value. All doors through which an answer arrives use it before they accept
// the answer: a run that has received a text that is not a value could not be resumed.
func CheckAnswer(text, of []byte) error {
	if _, err := value.Parse(text); err != nil {
		return fmt.Errorf("not valid JSON: %w", err)
	}
	inside := slices.Concat([]byte(strings.Repeat("[", recordDepth)), text, []byte(strings.Repeat("]", recordDepth)))
	if _, err := value.Parse(inside); err != nil {
		return errors.New("nested too deeply")
	}
	v, err := jsonschema.Decode(text) // refuses an object with two members of the same name
	if err != nil || of == nil {
		return err
	}
	s, broken := jsonschema.Compile(of)
	if len(broken) > 0 {
		return fmt.Errorf("the schema of the question is broken: %w", broken[0])
	}
	if problems := s.Check(v); len(problems) > 0 {
		return errors.New(jsonschema.FormatProblems(problems, maxProblems))
	}
	return nil
}

// ReadAnswer converts a text that a person typed to a value of type t. For a String, the text is
// the value. A Bool is yes or no, and one of several names is its beginning, if no other name
// begins like this. For other types it is JSON (spec/11-emit.md). A text that is not JSON is read
// as if it were in quotes.
func ReadAnswer(text string, t *value.Type) (value.Slot, []FieldError) {
	if t.Kind == value.TypeString {
		return Convert(value.String(text), t)
	}
	text = strings.TrimSpace(text)
	of := answered(t)
	names := of.Values
	if of.Kind == value.TypeEnum {
		names = plainNames(of)
	}
	if yes, ok := YesOrNo(text); ok && of.Kind == value.TypeBool {
		return Convert(value.Bool(yes), t)
	}
	if name, ok := NameOf(text, names); ok {
		return Convert(value.String(name), t)
	}
	v, err := value.Parse([]byte(text))
	if t.Kind == value.TypeUnion && v.Kind() != value.KindString {
		return Convert(value.String(text), t)
	}
	if err == nil {
		return Convert(v, t)
	}
	v, errs := Convert(value.String(text), t)
	if len(errs) > 0 && strings.ContainsAny(text[:min(1, len(text))], `{["`) {
		errs = []FieldError{{"", "not valid JSON: " + err.Error()}}
	}
	return v, errs
}

// answered returns the type whose value a person types for a type t: that inside an Option.
func answered(t *value.Type) *value.Type {
	for t.Kind == value.TypeOption && len(t.Args) == 1 {
		t = t.Args[0]
	}
	return t
}

// YesOrNo returns the Bool that a person means by a text. ok is false for another text.
func YesOrNo(text string) (yes, ok bool) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "yes", "y", "true":
		return true, true
	case "no", "n", "false":
		return false, true
	}
	return false, false
}

// NameOf returns the name that a person means by a text: the text itself, or else the only name
// that begins with it, in any letter case. ok is false if there is none.
func NameOf(text string, names []string) (name string, ok bool) {
	if slices.Contains(names, text) {
		return text, true
	}
	if text == "" {
		return "", false
	}
	for _, n := range names {
		if len(n) < len(text) || !strings.EqualFold(n[:len(text)], text) {
			continue
		}
		if ok {
			return "", false
		}
		name, ok = n, true
	}
	return name, ok
}

// recordedBool is how tapes and journals describe answers of type Bool. A person reads wordsOfBool.
const recordedBool, wordsOfBool = "true or false", "yes or no"

// ShownFormat is what a person reads of an AnswerFormat.
func ShownFormat(format string) string {
	if after, ok := strings.CutPrefix(format, recordedBool); ok {
		return wordsOfBool + after
	}
	return format
}

// RefusedWord is the message about a text that ReadAnswer refuses for a type whose valid answers
// are a few words: it names them. It is "" for other types.
func RefusedWord(text string, t *value.Type) string {
	of := answered(t)
	if of.Kind != value.TypeBool && of.Kind != value.TypeUnion && (of.Kind != value.TypeEnum || plainNames(of) == nil) {
		return ""
	}
	return fmt.Sprintf("expected %s, got %q", ShownFormat(AnswerFormat(t)), strings.TrimSpace(text))
}

// AnswerFormat describes the texts from which ReadAnswer can read a value of type t; "" means that
// any text is valid. It is recorded as a part of the request, so that older runs replay only with
// the same texts.
func AnswerFormat(t *value.Type) string {
	switch t.Kind {
	case value.TypeString, value.TypeAny:
		return ""
	case value.TypeBool:
		return recordedBool
	case value.TypeInt:
		return "a whole number"
	case value.TypeFloat:
		return "a number"
	case value.TypeNil:
		return "null"
	case value.TypeUnion:
		return oneOf(t.Values)
	case value.TypeEnum:
		if names := plainNames(t); names != nil {
			return oneOf(names)
		}
	case value.TypeOption:
		if inner := AnswerFormat(arg(t, 0)); inner != "" {
			return inner + ", or null"
		}
		return ""
	}
	return "JSON: " + sketchType(t, 0)
}

func oneOf(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// plainNames returns the names of an enum's variants if no variant has a payload, otherwise nil.
func plainNames(t *value.Type) []string {
	var names []string
	for _, v := range t.Variants {
		if len(v.Fields) > 0 || v.Named {
			return nil
		}
		names = append(names, v.Name)
	}
	return names
}

// deepSketch is the maximum depth of a sketch.
const deepSketch = 3

// sketchType shows the form of a type's JSON, with type names in place of values.
func sketchType(t *value.Type, depth int) string {
	deeper := func(n int) string { return sketchType(arg(t, n), depth+1) }
	switch t.Kind {
	case value.TypeUnion:
		return t.String()
	case value.TypeOption:
		return deeper(0) + " or null"
	case value.TypeArray:
		return "[" + deeper(0) + ", …]"
	case value.TypeTuple:
		parts := make([]string, len(t.Args))
		for i := range parts {
			parts[i] = deeper(i)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case value.TypeMap:
		return "{\"…\": " + deeper(1) + ", …}"
	case value.TypeStruct, value.TypeSchema, value.TypeError:
		if depth < deepSketch && len(t.Fields) > 0 {
			return sketchMembers(t.Fields, depth)
		}
	case value.TypeEnum:
		if names := plainNames(t); names != nil {
			for i, n := range names {
				names[i] = strconv.Quote(n)
			}
			return strings.Join(names, " | ")
		}
	}
	return t.String()
}

// sketchMembers shows the members of an object. Optional members have a `?`.
func sketchMembers(fields []value.Field, depth int) string {
	parts := make([]string, len(fields))
	for i, f := range fields {
		mark, t := "", f.Type
		if f.Optional || f.HasDefault || t.Kind == value.TypeOption {
			mark = "?"
		}
		if t.Kind == value.TypeOption {
			t = arg(t, 0)
		}
		parts[i] = strconv.Quote(f.Name) + mark + ": " + sketchType(t, depth+1)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
