package sema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/data/toolname"
	"github.com/concerto-lang/concerto/internal/text/foreign"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/internal/text/suggest"
	"github.com/concerto-lang/concerto/sema/edits"
)

// fieldType describes a field of an agent or host declaration. check validates the field's value
// beyond its type.
type fieldType struct {
	typ   types.Type
	check func(c *checker, m *module, f *ast.ConfigField, v any)
}

var stringArray = &types.Array{Elem: types.String}

// agentFields contains the fields of an agent declaration (spec/07-agents.md).
var agentFields = map[string]fieldType{
	"provider":         {},
	"model":            {typ: types.String},
	"temperature":      {typ: types.Float, check: between(0, 2)},
	"top_p":            {typ: types.Float, check: between(0, 1)},
	"max_tokens":       {typ: types.Int, check: positive},
	"seed":             {typ: types.Int},
	"reasoning_effort": {typ: types.String, check: effort},
	"stop_sequences":   {typ: stringArray},
	"system_prompt":    {typ: types.String},
	"tools":            {typ: types.Any, check: toolList},
	"memory":           {typ: types.Memory},
	"timeout":          {typ: types.Float, check: positive},
	"retry_policy":     {typ: types.Any, check: retryPolicy},
	"max_tool_rounds":  {typ: types.Int, check: positive},
	"max_tool_calls":   {typ: types.Int, check: positive},
	"schema_attempts":  {typ: types.Int, check: positive},
	"knowledge":        {typ: types.Any, check: ledgers},
	"on_tool_error":    {},
	"app_tools":        {typ: types.Any, check: appTools},
}

// hostFields contains the fields of a host declaration (spec/08-hosts.md).
var hostFields = map[string]fieldType{
	"connector":        {},
	"input_format":     {typ: types.String, check: format},
	"output_format":    {typ: types.String, check: format},
	"timeout":          {typ: types.Float, check: positive},
	"question_timeout": {typ: types.Float, check: positive},
	"question_default": {typ: types.Any},
	"tools":            {typ: types.Any, check: toolList},
	"app_tools":        {typ: types.Any, check: appTools},
}

// defineConfigs checks the declarations whose fields are constants. It runs when all names are
// known.
func (c *checker) defineConfigs(m *module, decls []ast.Decl) {
	c.structDefaults(m)
	for i, d := range decls {
		if !m.info.Library {
			c.rejectDecorators(m, d)
		}
		e := m.entities[i]
		if e == nil {
			continue
		}
		switch o := e.obj.(type) {
		case *Const:
			c.constant(m, o, o.decl)
		case *Tool:
			c.toolState(o)
		case *Agent:
			c.defineAgent(m, o)
		case *Host:
			c.defineHost(m, o)
		}
	}
}

// structDefaults checks the defaults of all fields in a module, also of unused fields.
func (c *checker) structDefaults(m *module) {
	for _, e := range m.entities {
		if e == nil || e.typ == nil {
			continue
		}
		for _, f := range e.typ.Fields {
			c.fieldDefault(e.typ, nil, f)
		}
		for _, v := range e.typ.Variants {
			for _, f := range v.Fields {
				c.fieldDefault(e.typ, &VariantRef{Index: v.Index}, f)
			}
		}
	}
}

// configFields checks the fields of a declaration and stores their values in out. It returns the
// fields by name.
func (c *checker) configFields(m *module, what string, fields []*ast.ConfigField, types map[string]fieldType, out map[string]any) map[string]*ast.ConfigField {
	seen := map[string]*ast.ConfigField{}
	for _, f := range fields {
		ft, ok := types[f.Name.Name]
		if !ok {
			c.unknownConfig(m, what, f.Name, types, fields)
			continue
		}
		if first := seen[f.Name.Name]; first != nil {
			c.report(m, diag.DuplicateField.At(f.Name.Sp, "`%s` is set twice", f.Name.Name).Label(first.Name.Sp, "first here").
				Repair(edits.RemoveRow(m.info.File.Source, f.Sp, "Remove the second `%s`", f.Name.Name), "remove one"))
			continue
		}
		seen[f.Name.Name] = f
		if ft.typ == nil || f.Name.Name == "tools" && c.reportToolFunctions(m, f) {
			continue
		}
		b := c.constBody(m)
		b.configField = f.Name.Name
		b.checkAs(f.Value, ft.typ, reason{m, f.Name.Sp, "the field `" + f.Name.Name + "`"})
		b.finish()
		c.folding = f.Name.Name
		v := c.evaluate(m, f.Value, ft.typ)
		if c.folding = ""; v != nil {
			out[f.Name.Name] = v
			if ft.check != nil {
				ft.check(c, m, f, v)
			}
		}
	}
	return seen
}

// configPlaces contains the tables of other languages' names for the fields.
var configPlaces = map[string]foreign.Place{"an agent": foreign.Agent, "a host": foreign.Host}

func (c *checker) unknownConfig(m *module, what string, name *ast.Ident, fieldTypes map[string]fieldType, fields []*ast.ConfigField) {
	var names []string
	for n := range fieldTypes {
		names = append(names, n)
	}
	slices.Sort(names)
	isSet := func(n string) bool {
		return slices.ContainsFunc(fields, func(f *ast.ConfigField) bool { return f.Name.Name == n })
	}
	d := diag.UnknownConfig.At(name.Sp, "%s has no field `%s`", what, name.Name)
	hint := ""
	if place, ok := configPlaces[what]; ok {
		hint = place.Hint(name.Name)
	}
	if hint != "" {
		if w := place(what).Find(name.Name); len(w.Ours) == 1 {
			d.WithFixes(diag.Change(name.Sp, w.Ours[0], w.Ours[0], false))
		}
		d.Hint("%s", hint)
	} else if !suggestName(d, name, names) {
		d.Hint("its fields are %s", quotedNames(names))
	}
	markUsedUnsafe(d, isSet)
	c.report(m, d)
}

func place(what string) foreign.Place { return configPlaces[what] }

// wordValue returns the value of a field that is a name or a string, such as the name of a
// connection or a connector.
func (c *checker) wordValue(m *module, f *ast.ConfigField) (string, source.Span, bool) {
	switch x := f.Value.(type) {
	case *ast.PathExpr:
		if len(x.Segments) == 1 {
			return x.Segments[0].Name, x.Sp, true
		}
	case *ast.StringLit:
		return x.Value, x.Sp, true
	default: // the others are no names
	}
	c.report(m, diag.ConfigName.At(f.Value.Span(), "`%s` must be a name", f.Name.Name).Hint("write a name or a string"))
	return "", f.Value.Span(), false
}

func (c *checker) defineAgent(m *module, a *Agent) {
	c.rejectOtherDecorators(m, withoutPolicy(a.Decl.Decorators))
	a.OnUnknown = c.onUnknown(m, a.Decl.Decorators)
	a.Decorations = c.decorations(m, a.Decl.Decorators)
	if r := c.errorType("Response"); r != nil {
		c.recordCachedType(m, a.Decorations, a.Decl.Decorators, &types.Result{Ok: r, Err: types.Any})
	}
	if c.isHostField(m, a) {
		return
	}
	seen := c.configFields(m, "an agent", a.Decl.Fields, agentFields, a.Fields)
	at := a.Decl.Name.Sp
	if f := seen["on_tool_error"]; f != nil {
		c.toolErrorHook(m, a, f)
	}
	a.Knowledge = ledgersOf(a.Fields["knowledge"])
	ok := false
	if f := seen["provider"]; f != nil {
		a.Connection, at, ok = c.wordValue(m, f)
		if a.Decl.Uses != nil {
			c.report(m, diag.DuplicateField.At(f.Name.Sp, "the provider is set twice").Label(a.Decl.Uses.Sp, "first here").
				Repair(edits.RemoveRow(m.info.File.Source, f.Sp, "Remove `provider`"), "remove one"))
		}
	} else if a.Decl.Uses != nil {
		a.Connection, at, ok = a.Decl.Uses.Name, a.Decl.Uses.Sp, true
	} else {
		c.report(m, diag.NoProvider.At(at, "agent `%s` has no connection", a.Name).WithFixes(c.connectionFixes(a)...).Hint("write `agent %s uses NAME { … }`, with [connections.NAME] in the manifest", a.Name))
	}
	if ok {
		c.connection(m, a, at)
	}
}

// isHostField reports an agent that has the field `connector`, because the declaration was probably
// meant to be a host. It returns false if the agent has no such field.
func (c *checker) isHostField(m *module, a *Agent) bool {
	for _, f := range a.Decl.Fields {
		if f.Name.Name == "connector" {
			c.unknownConfig(m, "an agent", f.Name, agentFields, a.Decl.Fields)
			return true
		}
	}
	return false
}

// toolErrorHook checks the field on_tool_error of an agent: a function with the error as its
// parameter.
func (c *checker) toolErrorHook(m *module, a *Agent, f *ast.ConfigField) {
	t := &types.Func{Params: []types.Type{types.Error}, Result: types.Any}
	if e := c.errorType("ToolError"); e != nil {
		t.Params[0] = e
	}
	b := c.constBody(m)
	b.checkAs(f.Value, t, reason{m, f.Name.Sp, "the field `on_tool_error`"})
	b.finish()
	if p, ok := f.Value.(*ast.PathExpr); ok {
		if fn, ok := m.info.objects[p.Id].(*Function); ok {
			a.Fields[f.Name.Name] = fn
			return
		}
	}
	if !b.hasErrors() {
		c.report(m, diag.ConfigValue.At(f.Value.Span(), "`on_tool_error` must be the name of a function").Hint("write `fn recover(e: ToolError) -> String? { … }`, and `on_tool_error: recover`"))
	}
}

// connection checks the connection and the model of an agent against the manifest.
func (c *checker) connection(m *module, a *Agent, at source.Span) {
	if a.Connection == scripted || c.cfg.AnyConnection {
		return
	}
	if c.cfg.Manifest == nil {
		d := diag.UnknownConnection.At(at, "no connection `%s`: there is no Concerto.toml", a.Connection)
		c.addSection(d, "create it with a section [connections."+a.Connection+"]", "connections."+a.Connection, "provider = \"scripted\"\nreplies = []")
		c.report(m, d)
		return
	}
	if c.cfg.Manifest.Unread {
		return
	}
	conn, ok := c.cfg.Manifest.Connections[a.Connection]
	if !ok {
		d := diag.UnknownConnection.At(at, "no connection `%s` in %s", a.Connection, c.cfg.Manifest.File)
		if !suggestAs(d, at, a.Connection, sortedKeys(c.cfg.Manifest.Connections), asWritten(m, at), "did you mean `%s`?") {
			c.addSection(d, "add a section [connections."+a.Connection+"]", "connections."+a.Connection, "provider = \"scripted\"\nreplies = []")
		}
		c.report(m, d)
		return
	}
	if a.Fields["model"] == nil && conn.DefaultModel == "" && !conn.Scripted {
		if slices.ContainsFunc(a.Decl.Fields, func(f *ast.ConfigField) bool { return isMeantAs(f.Name.Name, "model", foreign.Agent, agentFields) }) {
			return // the wrong name of the field has been reported
		}
		d := diag.NoModel.At(a.Decl.Name.Sp, "agent `%s` has no model, and connection `%s` has no default_model", a.Name, a.Connection).
			Hint("add `model: \"…\"` here, or `default_model = \"…\"` to [connections.%s]", a.Connection)
		c.report(m, d)
	}
	c.onlyChat(m, a, conn)
	c.refusedFields(m, a)
}

// ModelUses returns the uses of models by the agent: that of its connection, followed by those of
// the connection's fallbacks. Model is a full name, or "".
func (a *Agent) ModelUses(connections map[string]ManifestConnection) (uses []models.Use) {
	effort, _ := a.Fields["reasoning_effort"].(string)
	for i, connection := range append([]string{a.Connection}, connections[a.Connection].Fallback...) {
		conn, ok := connections[connection]
		if !ok {
			continue // it is reported
		}
		name, _ := a.Fields["model"].(string)
		_, isAlias := conn.Aliases[name]
		if name == "" || i > 0 && !isAlias && conn.DefaultModel != "" {
			name = conn.DefaultModel
		}
		if full, ok := conn.Aliases[name]; ok {
			name = full
		}
		uses = append(uses, models.Use{Connection: connection, Model: name, Effort: effort})
	}
	return uses
}

// Refusal is a field of an agent that a model refuses.
type Refusal struct {
	Field *ast.ConfigField
	How   string // the end of a sentence about the model
	Step  string // what helps
}

// Refusals returns the fields of the agent that a model refuses. row is what is known about the
// model, or nil.
func (a *Agent) Refusals(row *models.Model, use models.Use) (all []Refusal) {
	for _, f := range a.Decl.Fields {
		if how, step := row.Refuses(f.Name.Name, use); how != "" && a.Fields[f.Name.Name] != nil {
			all = append(all, Refusal{f, how, step})
		}
	}
	return all
}

// refusedFields reports fields that one of the agent's models refuses.
func (c *checker) refusedFields(m *module, a *Agent) {
	for i, use := range a.ModelUses(c.cfg.Manifest.Connections) {
		row := c.cfg.Manifest.Connections[use.Connection].Endpoint.Model(use.Model)
		for _, r := range a.Refusals(row, use) {
			message := use.Model + " " + r.How
			if i > 0 {
				message = fmt.Sprintf("%s, the model of the fallback `%s`, %s", use.Model, use.Connection, r.How)
			}
			if r.Field.Name.Name == "reasoning_effort" {
				c.report(m, diag.RefusedEffort.At(r.Field.Value.Span(), "%s", message).Hint("%s", r.Step))
			} else {
				c.report(m, diag.RefusedField.At(r.Field.Name.Sp, "%s", message).Hint("%s", r.Step))
			}
		}
	}
}

// onlyChat reports fields that only chat completions have, if the requests of the agent use the
// Responses API.
func (c *checker) onlyChat(m *module, a *Agent, conn ManifestConnection) {
	if conn.Endpoint.Uses() != models.Responses {
		return
	}
	use := a.ModelUses(c.cfg.Manifest.Connections)[0]
	name, effort := use.Model, use.Effort
	tools := len(toolsOf(a.Fields["tools"])) > 0
	isFixed, row := conn.Endpoint.API == models.Responses, conn.Endpoint.Model(name)
	if !isFixed && row.ChatAccepts(tools, effort) {
		return
	}
	for _, f := range a.Decl.Fields {
		field := f.Name.Name
		if field != "seed" && field != "stop_sequences" || a.Fields[field] == nil {
			continue
		}
		d := diag.OnlyChat.At(f.Name.Sp, "%s accepts tools only with the Responses API, which has no `%s`", name, field)
		hint := "remove it, or remove the tools"
		switch {
		case isFixed:
			d.Message = fmt.Sprintf("connection `%s` uses the Responses API, which has no `%s`", a.Connection, field)
			hint = fmt.Sprintf("remove it, or remove `api = \"responses\"` from [connections.%s]", a.Connection)
		case row.ChatTools == models.EffortNone:
			d.Message = fmt.Sprintf("%s accepts tools with an effort only with the Responses API, which has no `%s`", name, field)
			hint = "remove it, or write `reasoning_effort: \"none\"`"
		}
		c.report(m, d.Repair(edits.RemoveRow(m.info.File.Source, f.Sp, "Remove `%s`", field), "%s", hint))
	}
}

// isMeantAs reports whether name, which is no field, was probably meant as the given field.
func isMeantAs(name, field string, place foreign.Place, fieldTypes map[string]fieldType) bool {
	if _, ok := fieldTypes[name]; ok {
		return false
	}
	w := place.Find(name)
	return len(w.Ours) == 1 && w.Ours[0] == field || suggest.Nearest(name, sortedKeys(fieldTypes)) == field
}

// asWritten returns a format for a name that replaces the text at a span. The format quotes the
// name if the text is in quotes.
func asWritten(m *module, at source.Span) string {
	if strings.HasPrefix(m.info.File.Source.Slice(at), `"`) {
		return "%q"
	}
	return "%s"
}

// scripted is the name of the built-in connection. It replays recorded replies, so that a program
// can run without an API key.
const scripted = "scripted"

func sortedKeys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func (c *checker) defineHost(m *module, h *Host) {
	c.rejectOtherDecorators(m, withoutPolicy(h.Decl.Decorators))
	h.OnUnknown = c.onUnknown(m, h.Decl.Decorators)
	h.Decorations = c.decorations(m, h.Decl.Decorators)
	for _, d := range h.Decorations {
		if d.persists() {
			c.report(m, diag.DecoratorArgument.At(findDecorator(h.Decl.Decorators, d.Name).Sp, "answers of a host cannot be stored in a file").
				Hint("remove `persist`, or put `@cache` on a function that calls the host"))
		}
	}
	seen := c.configFields(m, "a host", c.withoutManifestKeys(m, h), hostFields, h.Fields)
	h.Tools = toolsOf(h.Fields["tools"])
	f := seen["connector"]
	if f == nil && slices.ContainsFunc(h.Decl.Fields, isManifestKey) {
		return // the misplaced fields have been reported
	}
	if f == nil && slices.ContainsFunc(h.Decl.Fields, func(f *ast.ConfigField) bool { return isMeantAs(f.Name.Name, "connector", foreign.Host, hostFields) }) {
		return // the wrong name of the field has been reported
	}
	if f == nil {
		c.report(m, diag.NoConnector.At(h.Decl.Name.Sp, "host `%s` has no connector", h.Name).WithFixes(c.connectorFixes(m, h)...).
			Hint("add `connector: name`, with [hosts.name] in the manifest"))
		return
	}
	name, at, ok := c.wordValue(m, f)
	if !ok {
		return
	}
	h.Connector = name
	if c.cfg.AnyHost {
		return
	}
	if c.cfg.Manifest == nil {
		d := diag.UnknownConnector.At(at, "no host `%s`: there is no Concerto.toml", name)
		c.addSection(d, "create it with a section [hosts."+name+"] that contains the command", "hosts."+name, "command = \""+name+"\"")
		c.report(m, d)
		return
	}
	if _, ok := c.cfg.Manifest.Hosts[name]; !ok && !c.cfg.Manifest.Unread {
		d := diag.UnknownConnector.At(at, "no host `%s` in %s", name, c.cfg.Manifest.File)
		if !suggestAs(d, at, name, sortedKeys(c.cfg.Manifest.Hosts), asWritten(m, at), "did you mean `%s`?") {
			c.addSection(d, "add a section [hosts."+name+"] with the command", "hosts."+name, "command = \""+name+"\"")
		}
		c.report(m, d)
	}
}

// isManifestKey reports whether a field of a host is a key that belongs in the host's section of
// the manifest.
func isManifestKey(f *ast.ConfigField) bool {
	_, own := hostFields[f.Name.Name]
	return !own && manifestKey(f.Name.Name) != ""
}

// manifestKey returns the key in the host's section of the manifest that corresponds to a field, or
// "".
func manifestKey(name string) string {
	switch name {
	case "command", "args", "env", "transport", "working_dir", "url", "message_types", "pass_env", "approval_default", "instances", "mode", "model":
		return name
	case "cmd", "binary", "executable", "program":
		return "command"
	case "arguments", "argv":
		return "args"
	case "cwd", "workdir", "directory":
		return "working_dir"
	}
	return ""
}

// withoutManifestKeys returns the fields of a host without the fields that are keys of the host's
// section in the manifest. It reports these fields in one diagnostic.
func (c *checker) withoutManifestKeys(m *module, h *Host) []*ast.ConfigField {
	var own, wrong []*ast.ConfigField
	var params *ast.ConfigField
	connector := strings.ToLower(h.Name)
	for _, f := range h.Decl.Fields {
		if f.Name.Name == "params" {
			params = f
			continue
		}
		if isManifestKey(f) {
			wrong = append(wrong, f)
			continue
		}
		own = append(own, f)
		if p, ok := f.Value.(*ast.PathExpr); ok && f.Name.Name == "connector" && len(p.Segments) == 1 {
			connector = p.Segments[0].Name
		}
	}
	if params != nil {
		c.report(m, diag.UnknownConfig.At(params.Name.Sp, "a host has no field `params`").
			Hint("write its members in Concerto.toml, in section `[hosts.%s.params]`", connector))
	}
	if len(wrong) == 0 {
		return own
	}
	f := m.info.File.Source
	var names, rows []string
	for _, x := range wrong {
		names = append(names, x.Name.Name)
		rows = append(rows, manifestKey(x.Name.Name)+" = "+f.Slice(x.Value.Span()))
	}
	d := diag.UnknownConfig.At(wrong[0].Name.Sp, "a host has no field `%s`", wrong[0].Name.Name)
	if len(names) > 1 {
		d.Message = "a host has no fields " + quotedNames(names)
		for _, x := range wrong[1:] {
			d.Label(x.Name.Sp, "and not this field")
		}
	}
	hint := "write `" + strings.Join(rows, "`, `") + "` in Concerto.toml, in section `[hosts." + connector + "]`"
	if len(own) == len(h.Decl.Fields)-len(wrong) && !slices.ContainsFunc(own, func(x *ast.ConfigField) bool { return x.Name.Name == "connector" }) {
		hint += ", and `connector: " + connector + "` here"
	}
	d.Hint("%s", hint)
	d.WithFixes(c.toManifest(f, h, wrong, connector, rows)...)
	c.report(m, d)
	return own
}

// toManifest returns the fix that moves fields of a host to a new section of the manifest. It
// returns nil if the section exists or a field's value is complicated.
func (c *checker) toManifest(f *source.File, h *Host, wrong []*ast.ConfigField, connector string, rows []string) []diag.Fix {
	man := c.cfg.Manifest
	if man == nil || man.Source == nil || man.Unread || len(wrong) == 0 {
		return nil
	}
	if _, ok := man.Hosts[connector]; ok {
		return nil
	}
	for _, x := range wrong {
		if text := f.Slice(x.Value.Span()); strings.ContainsAny(text, "\n{") {
			return nil
		}
	}
	fix := diag.Fix{Title: "Move it to Concerto.toml"}
	here := "connector: " + connector
	if slices.ContainsFunc(h.Decl.Fields, func(x *ast.ConfigField) bool { return x.Name.Name == "connector" }) {
		here = ""
	}
	for i, x := range wrong {
		if i == 0 && here != "" {
			fix.Edits = append(fix.Edits, diag.Replace(x.Sp, here))
		} else {
			fix.Edits = append(fix.Edits, edits.RemoveRow(f, x.Sp, "").Edits...)
		}
	}
	var d diag.Diagnostic
	c.addSection(&d, "", "hosts."+connector, strings.Join(rows, "\n"))
	for i := range fix.Edits {
		fix.Edits[i].File = f
	}
	if len(d.Fixes) == 0 {
		return nil
	}
	fix.Edits = append(fix.Edits, d.Fixes[0].Edits...)
	return []diag.Fix{fix}
}

// toolsOf returns the tools in the value of a constant list.
func toolsOf(v any) []*Tool {
	var out []*Tool
	list, _ := v.([]any)
	for _, x := range list {
		if t, ok := x.(*Tool); ok {
			out = append(out, t)
		}
	}
	return out
}

func toolList(c *checker, m *module, f *ast.ConfigField, v any) {
	list, ok := v.([]any)
	if !ok {
		c.report(m, diag.ConfigValue.At(f.Value.Span(), "`tools` must be a list of tools").
			Repair(edits.Surround(f.Value, "[", "]", "Put it in brackets"), "write `tools: [%s]`", c.shortSlice(m.info.File.Source, f.Value.Span())))
		return
	}
	for i, x := range list {
		if _, ok := x.(*Tool); !ok {
			at := f.Value.Span()
			if lit, isList := f.Value.(*ast.ArrayLit); isList {
				at = lit.Elems[i].Span()
			}
			d := diag.ConfigValue.At(at, "not a tool")
			if name, ok := x.(string); ok && slices.ContainsFunc(c.prog.Tools, func(t *Tool) bool { return t.Name == name }) {
				d.Repair(diag.SafeFix(diag.Replace(at, name), "Write `%s`", name), "write the name without quotes: `%s`", name)
			} else {
				d.Hint("`tools` is a list of names of `tool` declarations")
			}
			c.report(m, d)
		}
	}
}

// appTools checks the field app_tools. The field selects the application's tools that an agent or
// host may use.
func appTools(c *checker, m *module, f *ast.ConfigField, v any) {
	if v == false || v == true {
		return
	}
	wrong := func(at source.Span, what string) {
		c.report(m, diag.ConfigValue.At(at, "%s", what).
			Hint("write `app_tools: false`, or a list of names, versions and categories: `app_tools: [\"query\", \"query@2\", \"category:db\"]`"))
	}
	list, ok := v.([]any)
	if !ok {
		wrong(f.Value.Span(), "`app_tools` must be false or a list of strings")
		return
	}
	for i, x := range list {
		at := f.Value.Span()
		if lit, isList := f.Value.(*ast.ArrayLit); isList {
			at = lit.Elems[i].Span()
		}
		if text, ok := x.(string); !ok {
			wrong(at, "not a string")
		} else if err := toolname.CheckFilter(text); err != nil {
			wrong(at, err.Error())
		}
	}
}

// ledgersOf returns the ledgers in the value of the field `knowledge`, which is a ledger or a list.
func ledgersOf(v any) []*Store {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	var out []*Store
	for _, x := range list {
		if s, ok := x.(*Store); ok && s.Type == types.Ledger {
			out = append(out, s)
		}
	}
	return out
}

func ledgers(c *checker, m *module, f *ast.ConfigField, v any) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for i, x := range list {
		if s, ok := x.(*Store); ok && s.Type == types.Ledger {
			continue
		}
		at := f.Value.Span()
		if lit, isList := f.Value.(*ast.ArrayLit); isList {
			at = lit.Elems[i].Span()
		}
		d := diag.ConfigValue.At(at, "not a ledger")
		if _, isText := x.(string); isText {
			d.Hint("`knowledge` is a list of names of `ledger` declarations; put fixed text into `system_prompt`")
		} else {
			d.Hint("`knowledge` is a list of names of `ledger` declarations")
		}
		c.report(m, d)
	}
}

func between(lo, hi float64) func(*checker, *module, *ast.ConfigField, any) {
	return func(c *checker, m *module, f *ast.ConfigField, v any) {
		if n, ok := number(v); ok && (n < lo || n > hi) {
			c.report(m, diag.ConfigValue.At(f.Value.Span(), "`%s` must be between %g and %g", f.Name.Name, lo, hi).Hint("use a value in this range"))
		}
	}
}

func positive(c *checker, m *module, f *ast.ConfigField, v any) {
	if n, ok := number(v); ok && n <= 0 {
		c.report(m, diag.ConfigValue.At(f.Value.Span(), "`%s` must be more than 0", f.Name.Name).Hint("remove it to use the default"))
	}
}

// efforts contains the values of reasoning_effort in increasing order. Each model supports some of
// them, which the provider decides.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

func effort(c *checker, m *module, f *ast.ConfigField, v any) {
	if s, ok := v.(string); ok && !slices.Contains(efforts, s) {
		c.report(m, diag.ConfigValue.At(f.Value.Span(), "`%s` must be one of %s", f.Name.Name, strings.Join(efforts, ", ")).Hint("use one of these"))
	}
}

func format(c *checker, m *module, f *ast.ConfigField, v any) {
	if v != "text" && v != "json" {
		c.report(m, diag.ConfigValue.At(f.Value.Span(), "`%s` must be \"text\" or \"json\"", f.Name.Name).Hint("use one of these"))
	}
}

// retryFields contains the allowed keys of a retry_policy.
var retryFields = []string{"max_attempts", "backoff", "initial_delay_ms", "max_delay_ms"}

func retryPolicy(c *checker, m *module, f *ast.ConfigField, v any) {
	p, ok := v.(*ConstMap)
	if !ok {
		c.report(m, diag.ConfigValue.At(f.Value.Span(), "`retry_policy` must be a map").Hint("write `retry_policy: { max_attempts: 3, backoff: \"exponential\" }`"))
		return
	}
	for i, k := range p.Keys {
		_, isInt := p.Values[i].(int64)
		_, isString := p.Values[i].(string)
		switch {
		case !slices.Contains(retryFields, k):
			d := diag.UnknownConfig.At(f.Value.Span(), "`retry_policy` has no key `%s`", k)
			if near := suggest.Nearest(k, retryFields); near != "" {
				d.Hint("did you mean `%s`?", near)
			} else {
				d.Hint("its keys are %s", strings.Join(retryFields, ", "))
			}
			c.report(m, d)
		case k == "backoff" && (!isString || !slices.Contains(backoffs, p.Values[i].(string))):
			c.report(m, diag.ConfigValue.At(f.Value.Span(), "`backoff` must be \"none\", \"linear\" or \"exponential\"").Hint("use one of these"))
		case k != "backoff" && (!isInt || p.Values[i].(int64) < 0):
			c.report(m, diag.ConfigValue.At(f.Value.Span(), "`%s` must be an integer of 0 or more", k).Hint("write an integer"))
		}
	}
}
