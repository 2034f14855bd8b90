package main

import (
	"bytes"
	"encoding/json"
)

// rule is a rule of a TextMate grammar (https://macromates.com/manual/en/language_grammars).
type rule struct {
	Include       string          `json:"include,omitempty"`
	Name          string          `json:"name,omitempty"`
	ContentName   string          `json:"contentName,omitempty"`
	Match         string          `json:"match,omitempty"`
	Begin         string          `json:"begin,omitempty"`
	End           string          `json:"end,omitempty"`
	Captures      map[string]rule `json:"captures,omitempty"`
	BeginCaptures map[string]rule `json:"beginCaptures,omitempty"`
	EndCaptures   map[string]rule `json:"endCaptures,omitempty"`
	Patterns      []rule          `json:"patterns,omitempty"`
}

type textmate struct {
	Comment    string          `json:"comment"`
	Name       string          `json:"name"`
	ScopeName  string          `json:"scopeName"`
	FileTypes  []string        `json:"fileTypes"`
	Patterns   []rule          `json:"patterns"`
	Repository map[string]rule `json:"repository"`
}

func include(names ...string) (all []rule) {
	for _, n := range names {
		all = append(all, rule{Include: "#" + n})
	}
	return all
}

func named(names ...string) map[string]rule {
	all := map[string]rule{}
	for i, n := range names {
		if n != "" {
			all[string(rune('1'+i))] = rule{Name: n}
		}
	}
	return all
}

// name matches a name as the lexer reads it.
const name = `[A-Za-z_][A-Za-z0-9_]*`

// grammar returns the TextMate grammar. Rules are tried in order.
func grammar(w words) ([]byte, error) {
	g := textmate{
		Comment:   "Written by `make gen` from the lexer's table.",
		Name:      "Concerto",
		ScopeName: "source.concerto",
		FileTypes: []string{"conc"},
		Patterns:  include("code"),
		Repository: map[string]rule{
			"code":       {Patterns: include("comments", "strings", "decorator", "label", "member", "field", "numbers", "declarations", "contextual", "keywords", "calls", "types", "operators", "braces")},
			"comments":   {Patterns: include("doc", "line", "block")},
			"doc":        {Name: "comment.line.documentation.concerto", Match: `///(?!/).*$`},
			"line":       {Name: "comment.line.double-slash.concerto", Match: `//.*$`},
			"block":      {Name: "comment.block.concerto", Begin: `/\*`, End: `\*/`, Patterns: include("block")},
			"raw":        {Name: "string.quoted.other.raw.concerto", Begin: `\br(#*)"`, End: `"\1`},
			"triple":     {Name: "string.quoted.triple.concerto", Begin: `"""`, End: `"""`, Patterns: include("escape", "interpolation")},
			"double":     {Name: "string.quoted.double.concerto", Begin: `"`, End: `"`, Patterns: include("escape", "interpolation")},
			"single":     {Name: "string.quoted.single.concerto", Begin: `'`, End: `'`, Patterns: include("escape")},
			"escape":     {Name: "constant.character.escape.concerto", Match: `\\(?:u\{[0-9A-Fa-f_]*\}|.)`},
			"braces":     {Begin: `\{`, End: `\}`, Patterns: include("code")},
			"numbers":    {Name: "constant.numeric.concerto", Match: `\b(?:0[xX][0-9A-Fa-f_]+|0[oO][0-7_]+|0[bB][01_]+|[0-9][0-9_]*(?:\.[0-9][0-9_]*)?(?:[eE][+-]?[0-9][0-9_]*)?)\b`},
			"decorator":  {Match: `(@)(` + name + `)`, Captures: named("punctuation.definition.decorator.concerto", "entity.name.function.decorator.concerto")},
			"operators":  {Name: "keyword.operator.concerto", Match: `->|=>|\|>|\?\?|::|\.\.=?|[=!<>]=|&&|\|\||[-+*/%]=?|[=<>!?]`},
			"types":      {Name: "entity.name.type.concerto", Match: `\b[A-Z][A-Za-z0-9_]*\b`},
			"calls":      {Name: "entity.name.function.concerto", Match: `\b[a-z_][A-Za-z0-9_]*(?=\s*\()`},
			"keywords":   keywords(w),
			"contextual": contextual(),
		},
	}
	g.Repository["interpolation"] = rule{
		ContentName: "meta.embedded.line.concerto", Begin: `\$\{`, End: `\}`,
		BeginCaptures: map[string]rule{"0": {Name: "punctuation.section.interpolation.begin.concerto"}},
		EndCaptures:   map[string]rule{"0": {Name: "punctuation.section.interpolation.end.concerto"}},
		Patterns:      include("code"),
	}
	// A label follows break and continue, and precedes a loop; any other `'` begins a string.
	g.Repository["strings"] = rule{Patterns: include("label", "raw", "triple", "double", "single")}
	g.Repository["label"] = rule{Patterns: []rule{
		{Match: `\b(break|continue)(\s+)('` + name + `)(?!')`, Captures: named("keyword.control.concerto", "", "entity.name.label.concerto")},
		{Match: `('` + name + `)(?=\s*:\s*loop\s*\{)`, Captures: named("entity.name.label.concerto")},
		{Match: `(?:^|(?<=[{};]))\s*('` + name + `)(?=\s*:\s*(?:for|while|loop)\b)`, Captures: named("entity.name.label.concerto")},
	}}
	// any word may be a member after `.`, and a field or an argument before `:`
	g.Repository["member"] = rule{Patterns: []rule{
		{Match: `(?<!\.)(\.)([0-9][0-9_]*)`, Captures: named("punctuation.accessor.concerto", "constant.numeric.concerto")},
		{Match: `(?<!\.)(\.)(await)\b`, Captures: named("punctuation.accessor.concerto", "keyword.control.concerto")},
		{Match: `(?<!\.)(\.)(` + name + `)(?=\s*\()`, Captures: named("punctuation.accessor.concerto", "entity.name.function.member.concerto")},
		{Match: `(?<!\.)(\.)(` + name + `)`, Captures: named("punctuation.accessor.concerto", "variable.other.member.concerto")},
	}}
	g.Repository["field"] = rule{Match: `(?<![A-Za-z0-9_'])(` + name + `)(?=\s*:(?!:))`, Captures: named("variable.other.property.concerto")}
	g.Repository["declarations"] = declarations(w)
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(g)
	return out.Bytes(), err
}

func keywords(w words) rule {
	return rule{Patterns: []rule{
		{Name: "storage.type.concerto", Match: either(w.declaration)},
		{Name: "keyword.control.concerto", Match: either(w.control)},
		{Name: "storage.modifier.concerto", Match: either(w.modifier)},
		{Name: "constant.language.concerto", Match: either(w.constant)},
		{Name: "variable.language.concerto", Match: either(w.self)},
	}}
}

// declarations returns the rule that marks declared names.
func declarations(w words) rule {
	kinds := func(words, scope string) rule {
		return rule{Match: `\b(` + words + `)\s+(?!` + either(w.reserved()) + `)(` + name + `)`, Captures: named("storage.type.concerto", scope+".concerto")}
	}
	return rule{Patterns: []rule{
		kinds("fn|stage", "entity.name.function"),
		kinds("agent|host|tool|mcp|pipeline", "entity.name.type.class"),
		kinds("schema|struct|enum|trait|type", "entity.name.type"),
		kinds("mod", "entity.name.namespace"),
		kinds("hashmap|ledger|memory", "variable.other.store"),
	}}
}

// contextual returns the rule for words that are keywords only in certain positions.
func contextual() rule {
	return rule{Patterns: []rule{
		{Match: `\b(uses)(?=\s+` + name + `\s*(?:\{|$))`, Captures: named("storage.modifier.concerto")},
		{Match: `\b(mock)(?=\s+` + name + `\s*\{)`, Captures: named("keyword.control.concerto")},
		{Match: `\b(queue)(?=\s+` + name + `\s*:)`, Captures: named("storage.type.concerto")},
		{Match: `\b(parallel)(?=\s+for\b)`, Captures: named("keyword.control.concerto")},
		{Match: `\b(race)(?=\s*\()`, Captures: named("keyword.control.concerto")},
		{Match: `\b(on)(?=\s*")`, Captures: named("keyword.control.concerto")},
		{Match: `(?<=" => )(ask)(?=\s*[,}]|$)`, Captures: named("keyword.control.concerto")},
	}}
}
