package stdlib

import (
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
)

// Part is a generated table in a chapter of the manual. It is between the lines Begin and PartEnd.
type Part struct {
	Chapter string // name of the chapter's file
	Name    string
	Text    string // lines of the table, each with a newline
}

// PartEnd is the line after a generated table.
const PartEnd = "<!-- end -->\n"

// Begin returns the line before the table.
func (p Part) Begin() string { return "<!-- made by make gen: " + p.Name + " -->\n" }

// In returns the chapter's text with the current table between the marker lines. ok is false if the
// chapter has no such lines.
func (p Part) In(chapter string) (text string, ok bool) {
	before, rest, begun := strings.Cut(chapter, p.Begin())
	_, after, ended := strings.Cut(rest, PartEnd)
	return before + p.Begin() + p.Text + PartEnd + after, begun && ended
}

// Parts returns the generated tables about hosts' messages.
func Parts() []Part {
	var from, to, schemas strings.Builder
	from.WriteString("| type | fields | answered | no handler | `execute` | means |\n| --- | --- | --- | --- | --- | --- |\n")
	to.WriteString("| type | fields | means |\n| --- | --- | --- |\n")
	schemas.WriteString("| schema | fields |\n| --- | --- |\n")
	for _, m := range hostmsg.Messages() {
		fields := schemaFields(m.Schema)
		if m.Schema != "" {
			fmt.Fprintf(&schemas, "| `%s` | `%s` |\n", m.Schema, strings.Join(fields, ", "))
		}
		members := m.Members
		for _, f := range fields {
			name, _, _ := strings.Cut(f, ":")
			members = append(members, strings.TrimSuffix(name, "?"))
		}
		shown := "`" + strings.Join(members, "`, `") + "`"
		if m.Sender == hostmsg.Concerto {
			fmt.Fprintf(&to, "| `%s` | %s | %s |\n", m.Type, shown, m.Doc)
			continue
		}
		fmt.Fprintf(&from, "| `%s` | %s | %s | %s | %s | %s |\n", m.Type, shown, answered(&m), unhandled(&m), executed(&m), m.Doc)
	}
	return []Part{
		{"host-protocol.md", "messages from the host", from.String()},
		{"host-protocol.md", "messages to the host", to.String()},
		{"09-listen.md", "schemas of messages", schemas.String()},
	}
}

// schemaFields returns the fields of a schema of the library, in the form "percent?: Int".
func schemaFields(name string) []string {
	var out []string
	if name == "" {
		return nil
	}
	tree := library{}.Prelude(name)
	if tree == nil {
		panic("stdlib: the table of messages has a schema that no file declares: " + name)
	}
	for _, d := range tree.Decls {
		if s, ok := d.(*ast.SchemaDecl); ok && s.Name.Name == name {
			for _, f := range s.Fields {
				out = append(out, fieldText(tree, f))
			}
		}
	}
	return out
}

func answered(m *hostmsg.Message) string {
	switch {
	case m.Waits() && m.Timed:
		return "yes, within `question_timeout`"
	case m.Waits():
		return "yes"
	}
	return "no"
}

// unhandled describes what happens to a message for which the program has no handler.
func unhandled(m *hostmsg.Message) string {
	switch {
	case !m.Handled():
		return "–"
	case m.Unhandled == hostmsg.Gathered:
		return "added to `partial_output`"
	case m.Unhandled == hostmsg.Removed:
		return "removed from `partial_output`"
	case m.Unhandled == hostmsg.ByTools:
		return "the host's tools, else an `error`"
	case m.Default != "":
		return "`" + m.Default + "`, else an `error`"
	case m.Waits():
		return "an `error`"
	}
	return "`listen:unhandled`"
}

func executed(m *hostmsg.Message) string {
	switch {
	case m.Channel == "":
		return "–"
	case m.Waits():
		return "awaits `" + m.Channel + "`"
	}
	return "emits `" + m.Channel + "`"
}

// MessageFields returns the fields of the schema of a message type, in the form "percent?: Int".
// The schema "" has no fields.
func MessageFields(schema string) []string { return schemaFields(schema) }
