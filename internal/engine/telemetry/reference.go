package telemetry

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

//go:generate go run ./gen ../../../spec/telemetry-names.md

// Reference returns the text of spec/telemetry-names.md, which is generated from the table of names.
func Reference() string {
	r := Names()
	var b strings.Builder
	fmt.Fprintf(&b, `# Names in OpenTelemetry

<!-- written from internal/engine/telemetry/registry.json by "make gen"; do not edit -->

This page lists the names that a run may export ([chapter 40](40-telemetry.md)). Those that do not
begin with `+"`concerto.`"+` are from OpenTelemetry: from the semantic conventions for generative AI
%s, and from the core conventions %s.

## Spans

| kind | required attributes |
| --- | --- |
`, r.Version, r.Core)
	for _, name := range slices.Sorted(maps.Keys(r.Spans)) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, quoted(r.Spans[name].Required))
	}
	fmt.Fprintf(&b, "\nEvents of spans: %s. Log records: %s.\n\n## Metrics\n\n| metric | instrument | unit | attributes |\n| --- | --- | --- | --- |\n", quoted(r.Events), quoted(r.Logs))
	for _, name := range slices.Sorted(maps.Keys(r.Metrics)) {
		m := r.Metrics[name]
		fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s |\n", name, m.Instrument, m.Unit, quoted(m.Attributes))
	}
	b.WriteString("\n## Attributes\n\n| attribute | type | values |\n| --- | --- | --- |\n")
	for _, name := range slices.Sorted(maps.Keys(r.Attributes)) {
		a := r.Attributes[name]
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, a.Type, quoted(a.Values))
	}
	return b.String()
}

// quoted lists names as code.
func quoted(names []string) string {
	var out []string
	for _, name := range names {
		out = append(out, "`"+name+"`")
	}
	return strings.Join(out, ", ")
}
