package manifest

import (
	"cmp"
	"encoding/json"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/text/foreign"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/internal/text/suggest"
)

// Parse reads a manifest. It always returns a Manifest, which contains the valid parts. If the list
// contains errors, the Manifest must not be used to run a program. The diagnostics are E0801 for a
// text that is not TOML, and one diagnostic for each other error.
func Parse(file *source.File) (*Manifest, diag.List) {
	r := &reader{file: file, m: &Manifest{File: file}, kinds: &manifestKinds}
	root, values, ok := r.toml()
	if r.read = ok; ok {
		r.manifest(root, values)
	}
	return r.m, r.finish()
}

// ParseScript reads a script of replies and returns the array of replies as JSON. The script is a
// JSON array of replies, or a JSON object or a TOML text with the member `replies`. A file whose
// name ends with `.toml` contains TOML, any other file JSON.
func ParseScript(file *source.File) (json.RawMessage, diag.List) {
	r := &reader{file: file, kinds: &manifestKinds}
	var n *node
	var v any
	var ok bool
	if strings.HasSuffix(file.Name, ".toml") {
		var values map[string]any
		n, values, ok = r.toml()
		v = values
	} else {
		n, v, ok = r.json()
	}
	if !ok {
		return nil, r.list
	}
	if m, isTable := v.(map[string]any); isTable {
		for _, c := range n.children {
			if c.name != "replies" {
				r.reportUnknown(c, "the script", []string{"replies"})
			}
		}
		if n = n.child("replies"); n == nil {
			if r.unknown > 0 {
				return nil, r.list
			}
			r.add(diag.ManifestMissing.At(source.Span{}, "the script has no `replies`").
				Hint("write one `[[replies]]` table for each reply"))
			return nil, r.list
		}
		v = m["replies"]
	}
	return r.replies(n, v, "replies"), r.list
}

// reader converts a decoded text to a Manifest.
type reader struct {
	file   *source.File
	m      *Manifest
	kinds  *kinds
	form   form
	read   bool // the text is valid TOML
	list   diag.List
	hidden hidden

	unknown int // number of unknown keys so far
}

func (r *reader) add(d *diag.Diagnostic) { r.list.Add(d.In(r.file)) }

// setting is a valid value of a key. The key's type determines which field contains it.
type setting struct {
	text    string
	texts   []string
	table   []Variable
	number  float64
	integer int64
	yes     bool
	json    json.RawMessage
}

// lookup returns the keys by path, and the names of the keys in each section. It computes them when
// they are first needed, so that a process without a manifest starts faster.
var lookup = sync.OnceValues(func() (rows map[string]*Key, sections map[string][]string) {
	all := Keys()
	rows, sections = make(map[string]*Key, len(all)), map[string][]string{"": nil}
	for i := range all {
		k := &all[i]
		rows[k.Path] = k
		for path := k.Path; path != ""; {
			up := path[:max(0, strings.LastIndexByte(path, '.'))]
			if name := strings.TrimPrefix(path[len(up):], "."); name != "*" && !slices.Contains(sections[up], name) {
				sections[up] = append(sections[up], name)
			}
			path = up
		}
	}
	return rows, sections
})

func row(path string) *Key {
	rows, _ := lookup()
	return rows[path]
}

func namesIn(section string) []string {
	_, sections := lookup()
	return sections[section]
}

func (r *reader) manifest(root *node, values map[string]any) {
	for _, n := range root.children {
		v := values[n.name]
		switch n.name {
		case "project":
			r.m.Project.At = r.section("project", n, v, &target{project: &r.m.Project}, n.name)
		case "dependencies":
			r.each(n, v, r.dependency)
			r.checkDependencies()
		case "limits":
			r.limits(n, v)
		case "eval":
			r.m.Eval.At = r.section("eval", n, v, &target{eval: &r.m.Eval}, n.name)
		case "permissions":
			r.m.Permissions = &Permissions{}
			r.m.Permissions.At = r.section("permissions", n, v, &target{permissions: r.m.Permissions}, n.name)
			r.warnOpen(n)
		case "audit":
			r.m.Audit.At = r.section("audit", n, v, &target{audit: &r.m.Audit}, n.name)
		case "relay":
			r.m.Relay.At = r.section("relay", n, v, &target{relay: &r.m.Relay}, n.name)
		case "engine":
			r.m.Engine.At = r.section("engine", n, v, &target{engine: &r.m.Engine}, n.name)
		case "run":
			r.m.Run.Config = json.RawMessage("{}")
			r.m.Run.At = r.section("run", n, v, &target{config: &r.m.Run.Config}, n.name)
		case "workspace":
			r.m.Workspace.Config = json.RawMessage("{}")
			r.m.Workspace.At = r.section("workspace", n, v, &target{config: &r.m.Workspace.Config}, n.name)
		case "merge":
			r.each(n, v, r.merge)
		case "guard":
			r.guard(n, v)
		case "lints":
			r.checkLints(r.section("lints", n, v, &target{lints: &r.m.Lints}, n.name))
		case "connections":
			r.each(n, v, r.connection)
			r.checkFallbacks()
		case "hosts":
			r.each(n, v, r.host)
		case "mcp":
			r.each(n, v, r.mcp)
		case "tools":
			r.kinds = &toolKinds
			r.each(n, v, r.toolSection)
			r.kinds = &manifestKinds
		default:
			r.reportUnknown(n, "the manifest", namesIn(""))
		}
	}
}

// checkLints reports warnings that are both allowed and denied.
func (r *reader) checkLints(at Places) {
	for _, code := range r.m.Lints.Allow {
		if slices.Contains(r.m.Lints.Deny, code) {
			r.add(diag.ManifestConflict.At(at["deny"].Key, "[lints] has %s in both `allow` and `deny`", code).
				Label(at["allow"].Key, "it is allowed here").Hint("remove it from one of them"))
		}
	}
}

// warnOpen warns of [permissions] that restrict one kind of access and leave another one open
// without a decision about it.
func (r *reader) warnOpen(n *node) {
	var named, open []string
	for _, key := range []string{"fs", "env", "net"} {
		if n.child(key) != nil {
			named = append(named, "`"+key+"`")
		} else {
			open = append(open, "`"+key+"`")
		}
	}
	if len(named) == 0 || len(open) == 0 || n.child("default") != nil {
		return
	}
	r.add(diag.OpenPermissions.At(n.key, "[permissions] restrict %s and leave %s open", strings.Join(named, " and "), strings.Join(open, " and ")).
		WithFixes(r.addLine(n, `default = "deny"`)...).
		Hint("add `default = \"deny\"` to deny what is not named, or `default = \"allow\"` if this is intended"))
}

// each calls read for each named table in n, such as [hosts.X] in [hosts]. It reports values that
// are not tables.
func (r *reader) each(n *node, v any, read func(n *node, v any)) {
	values, ok := v.(map[string]any)
	if !ok {
		r.reportWrongType(n, v, n.name, "a table")
		return
	}
	loose := r.reportUnnamed(n, values, read)
	for _, c := range n.children {
		if slices.Contains(loose, c) {
			continue
		}
		if _, ok := values[c.name].(map[string]any); !ok {
			r.reportWrongType(c, values[c.name], n.name+"."+c.name, "a table")
			continue
		}
		read(c, values[c.name])
	}
}

func (r *reader) connection(n *node, v any) {
	c := &Connection{Name: n.name, Config: json.RawMessage("{}")}
	r.m.Connections = append(r.m.Connections, c)
	shown := "connections." + n.name
	before := r.unknown
	c.At = r.section("connections.*", n, v, &target{connection: c, config: &c.Config}, shown)
	c.decode()
	if r.unknown > before {
		return // the unknown key may be the one that a check misses
	}
	if n.child("provider") == nil {
		r.add(diag.ManifestMissing.At(n.key, "[%s] has no `provider`", shown).
			WithFixes(r.addLine(n, `provider = "openai"`)...).Hint("add `provider = \"openai\"` or another of %s", list(providers)))
	}
	if c.Script != "" && n.child("replies") != nil {
		r.add(diag.ManifestConflict.At(c.At["script"].Key, "[%s] has both `script` and `replies`", shown).
			Label(c.At["replies"].Key, "the replies in the manifest").
			Hint("keep one of them"))
	}
	r.checkAPI(c, n, shown)
	for _, settings := range n.child("models").members() {
		if like := settings.child("like"); like != nil && models.Lookup(c.Provider, c.ModelSettings[settings.name].Like) == nil {
			r.add(diag.ManifestValue.At(like.value, "nothing is known about the model %q", c.ModelSettings[settings.name].Like).
				Hint("write the name of a model of Anthropic, OpenAI or Google, or remove `like` and set the other keys"))
		}
	}
}

// checkAPI reports keys that the provider or the API of a connection does not support.
func (r *reader) checkAPI(c *Connection, n *node, shown string) {
	for _, key := range n.children {
		if k := row("connections.*." + key.name); k != nil && k.Only != nil && c.Provider != "" && !slices.Contains(k.Only, c.Provider) {
			r.add(diag.ManifestConflict.At(key.key, "[%s] has provider `%s`, which does not support `%s`", shown, c.Provider, key.name).
				Hint("remove it: only these providers support it: %s", strings.Join(k.Only, ", ")))
		}
	}
	e := c.Endpoint()
	if e.Uses() != models.Responses {
		return
	}
	if e.Provider == "azure" && models.IsDated(e.APIVersion) {
		r.add(diag.ManifestConflict.At(c.At["api_version"].Key, "[%s] has the Responses API, which has no version with a date", shown).
			Label(c.At["api"].Key, "the API").Hint("remove `api_version`"))
	}
	extra := n.child("extra")
	if extra == nil {
		return
	}
	for _, member := range extra.children {
		if problem, instead := models.OnlyChat(member.name); problem != "" {
			r.add(diag.ManifestValue.At(member.key, "%s", problem).Hint("%s", instead))
		}
	}
}

// limits reads [limits].
func (r *reader) limits(n *node, v any) {
	l := &r.m.Limits
	l.Config = json.RawMessage("{}")
	l.At = r.section("limits", n, v, &target{config: &l.Config}, n.name)
	if (n.child("max_day_tokens") != nil || n.child("max_day_cost_usd") != nil) && n.child("day_file") == nil {
		addMember(&l.Config, "day_file", []byte(row("limits.day_file").Default))
	}
}

// prices reads the prices of models, and adds them to the object of their connection.
func (r *reader) prices(object *json.RawMessage, n *node, v any, shown string) {
	values, ok := v.(map[string]any)
	if !ok {
		r.reportWrongType(n, v, shown, "a table of models").Hint("write `prices = { \"gpt-4o\" = { input = 2.5, output = 10.0 } }`")
		return
	}
	out := json.RawMessage("{}")
	for _, c := range n.children {
		before := r.unknown
		r.within(&out, "connections.*.prices.*", c, values[c.name], shown+"."+c.name)
		for _, need := range []string{"input", "output"} {
			if c.kind == table && c.child(need) == nil && r.unknown == before {
				r.add(diag.ManifestMissing.At(c.key, "the price of `%s` has no `%s`", c.name, need).
					Hint("add `%s = %s`: %s", need, row("connections.*.prices.*."+need).Example, row("connections.*.prices.*."+need).Unit))
			}
		}
	}
	addMember(object, n.name, out)
}

// modelsPath is the table of a connection that contains aliases, whose values are names of models,
// and settings of models, whose values are tables.
const modelsPath = "connections.*.models"

// models reads the aliases and the settings of models, and adds them to the object of their
// connection.
func (r *reader) models(k *Key, n *node, v any, object *json.RawMessage, shown string) {
	values, isTable := v.(map[string]any)
	aliases, settings := &node{name: n.name, key: n.key, value: n.value, kind: n.kind}, json.RawMessage("{}")
	for _, c := range n.children {
		if _, ok := values[c.name].(map[string]any); !ok {
			aliases.add(c)
			continue
		}
		if _, err := path.Match(c.name, ""); err != nil {
			r.add(diag.ManifestValue.At(c.key, "`%s` is not a valid pattern: %v", c.name, err).Hint("write the name of a model, in which `*` matches any characters"))
		}
		r.within(&settings, modelsPath+".*", c, values[c.name], shown+"."+c.name)
	}
	if len(settings) > len("{}") {
		addMember(object, "model_settings", settings)
	}
	if len(aliases.children) == 0 && isTable {
		return
	}
	if s, ok := r.value(k, aliases, v, shown); ok {
		r.member(object, k, aliases, v, s)
	}
}

// checkFallbacks reports fallback connections that do not exist.
func (r *reader) checkFallbacks() {
	names := []string{Builtin}
	for _, c := range r.m.Connections {
		names = append(names, c.Name)
	}
	for _, c := range r.m.Connections {
		for _, name := range c.Fallback {
			at := c.At["fallback"].Value
			switch {
			case name == c.Name:
				r.add(diag.ManifestValue.At(at, "[connections.%s] is its own fallback", c.Name).Hint("use another connection, or remove it"))
			case !slices.Contains(names, name):
				d := diag.ManifestValue.At(at, "unknown connection `%s` in Concerto.toml", name)
				if near := suggest.Nearest(name, names); near != "" {
					d.Hint("did you mean `%s`?", near)
				} else {
					d.Hint("add [connections.%s] with a provider", name)
				}
				r.add(d)
			}
		}
	}
}

func (r *reader) host(n *node, v any) {
	h := &Host{Name: n.name, Config: json.RawMessage("{}")}
	r.m.Hosts = append(r.m.Hosts, h)
	shown := "hosts." + n.name
	before := r.unknown
	h.At = r.section("hosts.*", n, v, &target{host: h, config: &h.Config}, shown)
	if r.unknown > before {
		return
	}
	transport := r.checkVendor(h, n, v, shown)
	r.checkRoots(h, n, shown)
	if (transport == "stdio" || transport == acp) && n.child("command") == nil {
		r.add(diag.ManifestMissing.At(n.key, "[%s] has no `command`", shown).
			WithFixes(r.addLine(n, "command = "+strconv.Quote(n.name))...).Hint("add `command = \"…\"`, the program to start for this host"))
	}
	if own, codex := n.child("sandbox"), n.child("codex_sandbox"); own != nil && own.kind != table && codex != nil {
		r.add(diag.ManifestConflict.At(codex.key, "[%s] has both `sandbox` and `codex_sandbox`", shown).
			Label(own.key, "the same setting").
			Hint("keep one of them"))
	}
	params, env := n.child("params"), n.child("params_env")
	if params == nil || env == nil {
		return
	}
	for _, c := range env.children {
		if first := params.child(c.name); first != nil {
			r.add(diag.ManifestConflict.At(c.key, "parameter `%s` of [%s] is in both `params` and `params_env`", c.name, shown).
				Label(first.key, "the other one").
				Hint("keep one of them"))
		}
	}
}

func (r *reader) mcp(n *node, v any) {
	s := &MCP{Name: n.name, Config: json.RawMessage("{}")}
	r.m.MCP = append(r.m.MCP, s)
	shown := "mcp." + n.name
	before := r.unknown
	s.At = r.section("mcp.*", n, v, &target{config: &s.Config}, shown)
	if r.unknown > before {
		return
	}
	transport := "stdio"
	if set := n.child("transport"); set != nil {
		transport, _ = v.(map[string]any)["transport"].(string)
	} else if n.child("url") != nil {
		transport = "http"
	}
	if need := map[string]string{"stdio": "command", "http": "url"}[transport]; need != "" && n.child(need) == nil {
		r.add(r.kinds.missing.At(n.key, "%s has no `%s`", r.place(shown), need).
			Hint("%s", r.inForm("add `command = \"…\"` to start a server, or `url = \"…\"` to use a running one")))
	}
	r.oauth(n, v, transport, shown)
}

// section reads a table whose keys are the rows of path. It returns the positions of the keys.
func (r *reader) section(path string, n *node, v any, t *target, shown string) Places {
	at := Places{"": {Key: n.key, Value: n.value}}
	values, ok := v.(map[string]any)
	if !ok {
		r.reportWrongType(n, v, shown, "a table")
		return at
	}
	for _, c := range n.children {
		at[c.name] = Place{Key: c.key, Value: c.value}
		r.key(path+"."+c.name, c, values[c.name], t, shown)
	}
	return at
}

// key reads one key of a section.
func (r *reader) key(path string, n *node, v any, t *target, section string) {
	shown := section + "." + n.name
	if _, reported := v.(broken); reported {
		return
	}
	k := row(path)
	if up := strings.TrimSuffix(path, "."+n.name); k == nil && len(up) < len(path) {
		if k = row(up + ".*"); k != nil && !r.networkHost(n, v, section) {
			return
		}
	}
	switch {
	case path == "guard.agents":
		r.guardAgents(t.config, n, v, shown)
	case path == modelsPath:
		r.models(k, n, v, t.config, shown)
	case k != nil && !(k.inFiles && r.form == inTOML) && !isSubsection(k, v):
		switch s, ok := r.value(k, n, v, shown); {
		case !ok:
		case k.set != nil:
			k.set(t, s)
		case t.config != nil:
			r.member(t.config, k, n, v, s)
		}
	case t.config != nil && len(namesIn(path)) > 0:
		n, v = fullForm(path, n, v)
		r.within(t.config, path, n, v, shown)
	case path == "connections.*.prices":
		r.prices(t.config, n, v, shown)
	default:
		up := path[:len(path)-len(n.name)-1]
		names := namesIn(up)
		if r.form == inTOML {
			names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { k := row(up + "." + name); return k != nil && k.inFiles })
		}
		r.reportUnknown(n, r.place(section), names)
	}
}

// isSubsection reports whether a value is the section of a name that is also a key with a text.
func isSubsection(k *Key, v any) bool {
	_, ok := v.(map[string]any)
	return ok && k.Type == Enum && len(namesIn(k.Path)) > 0
}

// member adds a key to the JSON object that contains the keys of a section.
func (r *reader) member(object *json.RawMessage, k *Key, n *node, v any, s *setting) {
	e := &encoder{r: r, ok: true}
	switch k.Type {
	case Strings: // invalid elements of an array of strings are omitted
		e.strings(s.texts)
	case Table:
		e.table(s.table)
	case Integer:
		e.buf.WriteString(strconv.FormatInt(s.integer, 10))
	default:
		e.value(n, v)
	}
	addMember(object, cmp.Or(k.member, n.name), e.buf.Bytes())
}

// within reads a section that is inside another section. It adds the keys of the inner section as
// an object to the outer section's object.
func (r *reader) within(object *json.RawMessage, path string, n *node, v any, shown string) {
	config := json.RawMessage("{}")
	r.section(path, n, v, &target{config: &config}, shown)
	for _, name := range namesIn(path) {
		if k := row(path + "." + name); k != nil && k.always && n.child(name) == nil {
			addMember(&config, name, []byte(k.Default))
		}
	}
	addMember(object, n.name, config)
}

// reportUnknown reports an unknown key. names are the keys that may be in its place.
func (r *reader) reportUnknown(n *node, where string, names []string) {
	r.unknown++
	d := r.kinds.unknown.At(n.key, "unknown key `%s` in %s", n.name, where)
	if text := strings.Trim(r.file.Slice(n.value), `"'`); n.kind == scalar && secret.IsSecretName(n.name) && mayBeSecret(text) {
		r.hideValue(n, text)
	}
	switch near := nearest(n.name, names); {
	case slices.Contains([]string{"api_key", "key", "token", "secret"}, n.name) && slices.Contains(names, "api_key_env"):
		d.Hint("set the name of the environment variable with the key: `api_key_env = \"…\"`")
	case r.otherToolHint(d, n.name, names):
	case near != "":
		r.suggestKey(d, n, near, names)
	default:
		d.Hint("%s", keysHint(names))
	}
	r.add(d)
}

// nearest returns the key that was most likely meant by an unknown key, or "". Unlike for names in
// general, one wrong letter is enough of a reason for a short key, because there are few keys.
func nearest(unknown string, names []string) string {
	if near := suggest.Nearest(unknown, names); near != "" {
		return near
	}
	if i := slices.IndexFunc(names, func(name string) bool { return suggest.EditDistance(unknown, name) == 1 }); i >= 0 {
		return names[i]
	}
	return ""
}

// mostNames is the maximum number of keys in the hint for an unknown key.
const mostNames = 16

// keysHint returns the hint with the keys of a section.
func keysHint(names []string) string {
	if len(names) > mostNames {
		return "some keys of this section are " + strings.Join(names[:mostNames], ", ") + "; `concerto doc manifest` lists all"
	}
	return "the keys of this section are " + strings.Join(names, ", ")
}

// otherToolHint adds a hint if other tools use the unknown key, and the manifest has another name
// for it. It returns false if it adds no hint.
func (r *reader) otherToolHint(d *diag.Diagnostic, name string, names []string) bool {
	w := foreign.Manifest.Find(name)
	if w.HintText() == "" || len(w.Ours) > 0 && !slices.Contains(names, w.Ours[0]) {
		return false
	}
	d.Hint("%s", w.HintText())
	return true
}

// reportWrongType reports a value of the wrong type.
func (r *reader) reportWrongType(n *node, v any, shown, want string) *diag.Diagnostic {
	d := r.kinds.typ.At(n.value, "`%s` must be %s, not %s", shown, r.inForm(want), r.typeOf(v))
	if _, reported := v.(broken); !reported {
		r.add(d)
	}
	return d
}

// typeOf returns the name of a decoded value's type.
func typeOf(v any) string {
	switch v := v.(type) {
	case string:
		return "a string"
	case int64:
		return "an integer"
	case float64:
		return "a float"
	case bool:
		return "a boolean"
	case time.Time:
		return "a date or time"
	case map[string]any:
		return "a table"
	case nil:
		return "null"
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return "a float"
		}
		return "an integer"
	}
	return "an array"
}

// list joins words in backquotes, with "or" before the last one.
func list(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = "\"" + w + "\""
	}
	if len(quoted) == 1 {
		return quoted[0]
	}
	return strings.Join(quoted[:len(quoted)-1], ", ") + " or " + quoted[len(quoted)-1]
}

// finite reports whether a number is valid as a time or a count: greater than 0 and at most 1e9.
func finite(f float64) bool { return !math.IsNaN(f) && f > 0 && f <= 1e9 }
