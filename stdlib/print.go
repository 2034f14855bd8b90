package stdlib

import (
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

var printNatives = native.Table{
	{"print", printText},
	{"log", logMessage},
}

// printText prints a text. The arguments are (value, newline).
func printText(a *vm.Args) (value.Slot, error) {
	text := a.Slot(0)
	if text.Kind() != value.KindString {
		text = value.String(string(value.AppendTextWithin(nil, text, a.TextBound())))
	}
	return a.Ask(&effect.Print{Text: text.AsString(), Newline: a.Bool(1)}, vm.Nothing)
}

// logMessage writes to the log. The arguments are (level, message, fields).
func logMessage(a *vm.Args) (value.Slot, error) {
	l := &effect.Log{Level: a.String(0), Message: value.Text(a.Slot(1))}
	if a.Len() > 2 {
		if f := value.Flatten(a.Slot(2)).Map(); f != nil && f.Len() > 0 {
			l.Fields = value.AppendJSONWithin(nil, f.Slot(), a.TextBound())
		}
	}
	return a.Ask(l, vm.Nothing)
}

var ioNatives = native.Table{
	{"input", func(a *vm.Args) (value.Slot, error) { return a.Ask(&effect.Input{All: a.Bool(0)}, inputText) }},
	{"eprint", func(a *vm.Args) (value.Slot, error) {
		return a.Ask(&effect.Log{Level: effect.PrintLevel, Message: a.String(0)}, vm.Nothing)
	}},
}

// inputText converts the result of a read from standard input to (text, end).
func inputText(r effect.Result) (value.Slot, error) {
	in := r.(*effect.InputText)
	return value.Tuple(value.String(in.Text), value.Bool(in.End)), nil
}
