package protocol

import (
	"fmt"
	"strings"
)

//go:generate go run ./gen ../../spec

// Reference is spec/relay.md.
func Reference() string {
	var b strings.Builder
	b.WriteString(intro)
	for _, part := range []struct {
		title, about string
		kind         Kind
	}{
		{"Events of a run", "A host sends them, the server keeps them and hands them on. One with a `seq` is stored before it is acknowledged or shown.", Event},
		{"Commands of apps", "The server stores a command before it confirms it.", Command},
		{"RPC", "The answer is an `rpc.response` to who asked. The code of a failure stands beside its `error`.", RPC},
		{"Between two ends of a connection", "None of these is stored.", Exchange},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", part.title, part.about)
		for i := range Messages {
			if m := &Messages[i]; m.Kind == part.kind {
				m.describe(&b)
			}
		}
	}
	b.WriteString("\n## Error codes\n\n| code | HTTP | why |\n| --- | --- | --- |\n")
	for _, c := range Codes {
		fmt.Fprintf(&b, "| `%s` | %d | %s |\n", c.Code, c.HTTP, c.Doc)
	}
	b.WriteString("\n`error_code` of an `rpc.response` is one of")
	for i, c := range RPCCodes {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, " `%s`", c)
	}
	b.WriteString(".\n\n## Machines\n\nWhat has happened to a thing, and what that makes of it. Nothing else can happen to it in that state.\n")
	for _, m := range Machines {
		fmt.Fprintf(&b, "\n| %s | when | then |\n| --- | --- | --- |\n", m.Name)
		for _, s := range m.Steps {
			from := s.From
			if from == None {
				from = "(none)"
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", from, s.On, s.To)
		}
	}
	return b.String()
}

const intro = `# The relay's protocol

<!-- Written by relay/protocol; DO NOT EDIT: change its tables, and run ` + "`make gen`" + `. -->

A frame is a JSON object in a WebSocket text frame, the envelope:

| field | |
| --- | --- |
| ` + "`type`" + ` | required, 1 to 64 of ` + "`a-z 0-9 _ .`" + ` |
| ` + "`ts`" + ` | required, a time of the sender's clock as RFC 3339 has it; nothing is ordered by it |
| ` + "`host_id`, `run_id`" + ` | 1 to 64 of ` + "`A-Z a-z 0-9 _ -`" + ` |
| ` + "`seq`" + ` | an integer from 1 to 2^53-1 |
| ` + "`data`" + ` | an object; left out it is empty |
| ` + "`id`, `re`" + ` | what the sender of a command calls it, and which one this answers: up to 64 bytes |
| ` + "`enc`" + ` | an object: the data is encrypted, and passes unread |

Fields that nobody knows are kept and handed on, types of events too; a ` + "`null`" + ` is a field that is left out. A frame has at most 4 MiB, and is
at most 64 arrays and objects deep. One that is no envelope, or whose fields have other types than they should, gets an ` + "`error`" + ` and the connection
stays; a field that is there twice is such a mistake. What a field of an event may be at most is what Concerto's own host keeps to; longer ones are taken.
`

// describe writes a message's part.
func (m *Message) describe(b *strings.Builder) {
	from := make([]string, len(m.From))
	for i, p := range m.From {
		from[i] = string(p)
	}
	fmt.Fprintf(b, "\n### %s\n\nFrom the %s%s. %s", m.Type, strings.Join(from, " or the "), since(m), m.Doc)
	if m.Gated {
		b.WriteString(" It waits for an approval.")
	}
	b.WriteString("\n")
	table(b, shapeOf(m.Data).fields)
	if m.Result != nil {
		b.WriteString("\nIt gives:\n")
		table(b, shapeOf(m.Result).fields)
	}
}

func since(m *Message) string {
	if m.Since == 1 {
		return ", also in protocol 1"
	}
	return ""
}

func table(b *strings.Builder, fields []field) {
	if len(fields) == 0 {
		return
	}
	b.WriteString("\n| field | type | |\n| --- | --- | --- |\n")
	for _, f := range fields {
		name := "`" + f.name + "`"
		if f.required {
			name += " required"
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", name, f.shape.words(), f.doc)
	}
}

// words are what a shape is, for the manual.
func (s *shape) words() string {
	out := strings.TrimPrefix(strings.TrimPrefix(s.kind.String(), "an "), "a ")
	switch {
	case len(s.enum) > 0:
		return "`" + strings.Join(s.enum, "` `") + "`"
	case s.form != "":
		return forms[s.form].what
	case s.kind == array:
		return "array of " + s.each.words()
	case s.each != nil:
		return "object of " + s.each.words() + "s"
	case s.bounded:
		return fmt.Sprintf("%s from %d to %d", out, s.from, s.to)
	case s.bytes > 0:
		return fmt.Sprintf("%s, at most %d bytes", out, s.bytes)
	case s.chars > 0:
		return fmt.Sprintf("%s, at most %d characters", out, s.chars)
	}
	if len(s.fields) > 0 {
		names := make([]string, len(s.fields))
		for i, f := range s.fields {
			names[i] = f.name
			if !f.required {
				names[i] += "?"
			}
		}
		return "object {" + strings.Join(names, ", ") + "}"
	}
	return out
}
