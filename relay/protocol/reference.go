package protocol

import (
	"fmt"
	"strings"
)

//go:generate go run ./gen ../../spec

// Reference returns the text of spec/relay.md.
func Reference() string {
	var b strings.Builder
	b.WriteString(intro)
	for _, part := range []struct {
		title, about string
		kind         Kind
	}{
		{"Events of a run", "The machine sends these events; the server stores them and sends them to apps. An event with a `seq`\nis stored before it is acknowledged or shown.", Event},
		{"Commands of apps", "The server stores a command before it confirms it.", Command},
		{"RPC", "The response is an `rpc.response` to the sender; if it failed, it has `error` and `error_code`.", RPC},
		{"Connection", "These messages are not stored.", Exchange},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", part.title, part.about)
		for i := range Messages {
			if m := &Messages[i]; m.Kind == part.kind {
				m.describe(&b)
			}
		}
	}
	b.WriteString("\n## Error codes\n\n| code | HTTP | meaning |\n| --- | --- | --- |\n")
	for _, c := range Codes {
		fmt.Fprintf(&b, "| `%s` | %d | %s |\n", c.Code, c.HTTP, c.Doc)
	}
	b.WriteString("\n`error_code` of an `rpc.response` is one of these:\n\n")
	for _, c := range RPCCodes {
		fmt.Fprintf(&b, "- `%s`\n", c)
	}
	b.WriteString("\n## State machines\n\nEach row is a transition: in the state of the first column, the event of the second leads to the\nstate of the third. There are no other transitions.\n")
	for _, m := range StateMachines {
		fmt.Fprintf(&b, "\n| %s | event | next state |\n| --- | --- | --- |\n", m.Name)
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

This page specifies the messages between the relay's server, its machines and its apps
([chapter 24](24-relay.md) describes what they are for). Each message is a frame: a JSON object in a
WebSocket text frame. For example, a machine reports output of a run:

` + "```json" + `
{"type":"run.output","ts":"2025-01-01T12:00:00Z","host_id":"host_a","run_id":"run_a","seq":7,"data":{"stream":"stdout","text":"done"}}
` + "```" + `

## Envelope

| field | meaning |
| --- | --- |
| ` + "`type`" + ` | required, 1 to 64 of ` + "`a-z 0-9 _ .`" + ` |
| ` + "`ts`" + ` | required, the time by the sender's clock in RFC 3339; it does not define an order |
| ` + "`host_id`, `run_id`" + ` | 1 to 64 of ` + "`A-Z a-z 0-9 _ -`" + ` |
| ` + "`seq`" + ` | an integer from 1 to 2^53-1 |
| ` + "`data`" + ` | an object; empty if omitted |
| ` + "`id`, `re`" + ` | the sender's id of a command, and the id of the command to which this is a response: up to 64 bytes |
| ` + "`enc`" + ` | an object: the data is encrypted, and is passed on unread |

Unknown fields and unknown types of events are stored and passed on; a field with ` + "`null`" + ` counts as
omitted. A frame has at most 4 MiB, and nests at most 64 arrays and objects. A frame that is not an
envelope, or has a field of the wrong type or a duplicate field, is answered with an ` + "`error`" + `, and
the connection stays open. hostd does not exceed the maximum sizes of fields in events; the server
also accepts longer fields.
`

// describe writes the manual's section about a message type.
func (m *Message) describe(b *strings.Builder) {
	from := make([]string, len(m.From))
	for i, p := range m.From {
		from[i] = string(p)
	}
	fmt.Fprintf(b, "\n### %s\n\nFrom the %s%s.\n%s", m.Type, strings.Join(from, " or the "), since(m), m.Doc)
	if m.Gated {
		b.WriteString(" It waits for an approval.")
	}
	b.WriteString("\n")
	table(b, shapeOf(m.Data).fields)
	if m.Result != nil {
		b.WriteString("\nResult:\n")
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
	b.WriteString("\n| field | type | meaning |\n| --- | --- | --- |\n")
	for _, f := range fields {
		name := "`" + f.name + "`"
		if f.required {
			name += " required"
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", name, f.shape.words(), f.doc)
	}
}

// words returns a description of a shape in words, for the manual.
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
