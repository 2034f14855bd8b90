package jsonschema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/text/suggest"
)

// Compile compiles a schema. A schema without `$schema` is read as draft 2020-12.
func Compile(text []byte) (*Schema, []SchemaError) {
	doc, err := Decode(text)
	if err != nil {
		return nil, []SchemaError{{"", "not a JSON value: " + err.Error()}}
	}
	c := &compiler{nodes: map[string]*node{}, resources: map[string]*place{}, anchors: map[string]*place{}, dialect: draft2020}
	if o, ok := doc.(map[string]any); ok {
		c.choose(o)
	}
	c.index(doc, "", "", nil)
	if len(c.errs) > 0 {
		return nil, c.errs
	}
	root := c.compile("")
	for at := 0; at < len(c.queue); at++ {
		c.fill(c.queue[at])
	}
	if len(c.errs) == 0 {
		c.findCycle()
	}
	if len(c.errs) > 0 {
		slices.SortStableFunc(c.errs, func(a, b SchemaError) int { return strings.Compare(a.Pointer, b.Pointer) })
		return nil, c.errs
	}
	return &Schema{root: root, tracks: c.tracks, secretive: c.secretive}, nil
}

type compiler struct {
	dialect   string
	places    map[string]*place // values that may be schemas, by JSON pointer
	resources map[string]*place // schemas with a base URI, by absolute URI
	anchors   map[string]*place // named schemas, by "BASE#NAME"
	nodes     map[string]*node
	queue     []*node
	errs      []SchemaError
	tracks    bool
	secretive bool
}

func (c *compiler) choose(o map[string]any) {
	name, isSet := o["$schema"]
	if !isSet {
		return
	}
	text, _ := name.(string)
	if c.dialect = dialect(text); c.dialect == "" {
		c.wrong("/$schema", "%s is not known; draft 2020-12 (https://%s) and draft-07 (http://%s#) are", show(name), draft2020, draft07)
	}
}

func (c *compiler) wrong(at, format string, args ...any) {
	c.errs = append(c.errs, SchemaError{at, fmt.Sprintf(format, args...)})
}

// compile returns the node for the schema at a JSON pointer. The node is filled in later.
func (c *compiler) compile(at string) *node {
	if n := c.nodes[at]; n != nil {
		return n
	}
	n := &node{at: at}
	c.nodes[at] = n
	c.queue = append(c.queue, n)
	return n
}

func (c *compiler) fill(n *node) {
	p := c.places[n.at]
	if p == nil {
		c.wrong(n.at, "a schema must be an object, true or false")
		return
	}
	n.resource = p.resource
	if b, ok := p.value.(bool); ok {
		n.always = &b
		return
	}
	o, ok := p.value.(map[string]any)
	if !ok {
		c.wrong(n.at, "a schema must be an object, true or false, not %s", show(p.value))
		return
	}
	r := reading{c: c, n: n, o: o}
	r.secret()
	if ref, ok := o["$ref"]; ok {
		n.ref = c.refer(p, n.at+"/$ref", ref)
		if c.dialect == draft07 {
			return // draft-07 ignores the siblings of `$ref`
		}
	}
	r.values()
	r.numbers()
	r.texts()
	r.arrays()
	r.objects()
	r.logic()
	r.named("$defs") // definitions without references must be valid, too
	r.named("definitions")
	if c.dialect == draft2020 {
		if ref, ok := o["$dynamicRef"]; ok {
			n.dynamic = c.referDynamic(p, n.at+"/$dynamicRef", ref)
		}
	}
}

// reading is the compilation of one schema object.
type reading struct {
	c *compiler
	n *node
	o map[string]any
}

func (r *reading) wrong(keyword, format string, args ...any) {
	r.c.wrong(r.n.at+"/"+keyword, format, args...)
}

func (r *reading) secret() {
	for _, k := range []string{"writeOnly", "x-redact"} {
		switch v := r.o[k].(type) {
		case nil:
		case bool:
			r.n.secret = r.n.secret || v
			r.c.secretive = r.c.secretive || v
		default:
			r.wrong(k, "must be true or false, not %s", show(v))
		}
	}
}

// typeNames are the valid types.
var typeNames = [...]string{"array", "boolean", "integer", "null", "number", "object", "string"}

func (r *reading) values() {
	if t, ok := r.o["type"]; ok {
		list, isList := t.([]any)
		if !isList {
			list = []any{t}
		}
		for i, x := range list {
			at := "type"
			if isList {
				at += "/" + strconv.Itoa(i)
			}
			name, _ := x.(string)
			if !slices.Contains(typeNames[:], name) {
				hint := ""
				if near := suggest.Nearest(name, typeNames[:]); near != "" {
					hint = fmt.Sprintf("; did you mean %q?", near)
				}
				r.wrong(at, "%s is no type%s", show(x), hint)
			}
			r.n.types = append(r.n.types, name)
		}
		if len(list) == 0 {
			r.wrong("type", "names no type")
		}
	}
	if v, ok := r.o["const"]; ok {
		r.n.values = &values{enum: []any{v}, isConst: true}
	}
	if v, ok := r.o["enum"]; ok {
		list, isList := v.([]any)
		if !isList {
			r.wrong("enum", "must be a list, not %s", show(v))
		}
		if r.n.values != nil { // with a const, a value must satisfy both
			c := r.n.values.enum[0]
			list = slices.DeleteFunc(slices.Clone(list), func(x any) bool { return !equal(x, c) })
		}
		r.n.values = &values{enum: list}
	}
}

func (r *reading) numbers() {
	x := numberRules{min: r.number("minimum"), max: r.number("maximum"), above: r.number("exclusiveMinimum"),
		below: r.number("exclusiveMaximum"), multiple: r.number("multipleOf")}
	if x.multiple != nil && x.multiple.rat.Sign() <= 0 {
		r.wrong("multipleOf", "must be more than 0, not %s", x.multiple.text)
	}
	if x != (numberRules{}) {
		r.n.numbers = &x
	}
}

func (r *reading) number(k string) *bound {
	v, ok := r.o[k]
	if !ok {
		return nil
	}
	n, ok := v.(json.Number)
	if !ok {
		r.wrong(k, "must be a number, not %s", show(v))
		return &bound{new(big.Rat), "0"}
	}
	return &bound{number(n), string(n)}
}

func (r *reading) count(k string) *int {
	v, ok := r.o[k]
	if !ok {
		return nil
	}
	if n, ok := v.(json.Number); ok {
		if x := number(n); x.IsInt() && x.Sign() >= 0 && x.Num().IsInt64() {
			i := int(x.Num().Int64())
			return &i
		}
	}
	r.wrong(k, "must be an integer of 0 or more, not %s", show(v))
	return nil
}

func (r *reading) texts() {
	x := textRules{minLength: r.count("minLength"), maxLength: r.count("maxLength")}
	if v, ok := r.o["pattern"]; ok {
		x.pattern = r.pattern("pattern", v)
	}
	if v, ok := r.o["format"]; ok {
		text, isText := v.(string)
		if !isText {
			r.wrong("format", "must be a text, not %s", show(v))
		}
		x.format = text
	}
	if x != (textRules{}) {
		r.n.texts = &x
	}
}

func (r *reading) pattern(at string, v any) *regexp.Regexp {
	text, ok := v.(string)
	if !ok {
		r.wrong(at, "must be a regular expression, not %s", show(v))
		return nil
	}
	x, err := regexp.Compile(text)
	if err != nil {
		r.wrong(at, "%q cannot be matched: %s (the syntax is RE2's: without lookaround and back references)", text, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return x
}

// schema returns the node for the schema in the keyword k, or nil if the keyword is absent.
func (r *reading) schema(k string) *node {
	if _, ok := r.o[k]; !ok {
		return nil
	}
	return r.c.compile(r.n.at + "/" + escape(k))
}

func (r *reading) schemas(k string) []*node {
	v, ok := r.o[k]
	if !ok {
		return nil
	}
	list, isList := v.([]any)
	if !isList || len(list) == 0 {
		r.wrong(k, "must be a list of schemas, not %s", show(v))
	}
	out := make([]*node, len(list))
	for i := range list {
		out[i] = r.c.compile(r.n.at + "/" + k + "/" + strconv.Itoa(i))
	}
	return out
}

func (r *reading) named(k string) map[string]*node {
	v, ok := r.o[k]
	if !ok {
		return nil
	}
	o, isObject := v.(map[string]any)
	if !isObject {
		r.wrong(k, "must be an object of schemas, not %s", show(v))
	}
	out := make(map[string]*node, len(o))
	for name := range o {
		out[name] = r.c.compile(r.n.at + "/" + k + "/" + escape(name))
	}
	return out
}

func (r *reading) arrays() {
	x := arrayRules{contains: r.schema("contains"), minItems: r.count("minItems"), maxItems: r.count("maxItems"), unique: r.flag("uniqueItems")}
	if _, list := r.o["items"].([]any); list && r.c.dialect == draft07 {
		x.prefix, x.items = r.schemas("items"), r.schema("additionalItems")
	} else {
		x.items = r.schema("items")
	}
	if r.c.dialect == draft2020 {
		x.prefix = r.schemas("prefixItems")
		x.minContains, x.maxContains = r.count("minContains"), r.count("maxContains")
		x.unevaluated = r.schema("unevaluatedItems")
		r.c.tracks = r.c.tracks || x.unevaluated != nil
	}
	if x.prefix != nil || x.items != nil || x.contains != nil || x.minItems != nil || x.maxItems != nil || x.unique || x.unevaluated != nil {
		r.n.arrays = &x
	}
}

func (r *reading) flag(k string) bool {
	v, ok := r.o[k]
	b, isBool := v.(bool)
	if ok && !isBool {
		r.wrong(k, "must be true or false, not %s", show(v))
	}
	return b
}

func (r *reading) objects() {
	x := objectRules{properties: r.named("properties"), additional: r.schema("additionalProperties"), propertyNames: r.schema("propertyNames"),
		minimum: r.count("minProperties"), maximum: r.count("maxProperties")}
	x.names = slices.Sorted(maps.Keys(x.properties))
	if v, ok := r.o["required"]; ok {
		x.required = r.nameList("required", v)
	}
	patterns := r.named("patternProperties")
	for _, text := range slices.Sorted(maps.Keys(patterns)) {
		x.patterns = append(x.patterns, patternRule{r.pattern("patternProperties/"+escape(text), text), patterns[text]})
	}
	if r.c.dialect == draft2020 {
		x.dependentSchemas = r.named("dependentSchemas")
		x.unevaluated = r.schema("unevaluatedProperties")
		r.c.tracks = r.c.tracks || x.unevaluated != nil
		r.dependent("dependentRequired", &x)
	} else {
		r.dependent("dependencies", &x)
	}
	if x.properties != nil || x.patterns != nil || x.additional != nil || x.propertyNames != nil || x.required != nil || x.minimum != nil ||
		x.maximum != nil || x.dependentRequired != nil || x.dependentSchemas != nil || x.unevaluated != nil {
		r.n.objects = &x
	}
}

// dependent compiles requirements that apply only if a member is present. They are lists of names,
// or, in draft-07, also schemas.
func (r *reading) dependent(k string, x *objectRules) {
	v, ok := r.o[k]
	if !ok {
		return
	}
	o, isObject := v.(map[string]any)
	if !isObject {
		r.wrong(k, "must be an object, not %s", show(v))
	}
	for name, wants := range o {
		if _, list := wants.([]any); list || r.c.dialect == draft2020 {
			if x.dependentRequired == nil {
				x.dependentRequired = map[string][]string{}
			}
			x.dependentRequired[name] = r.nameList(k+"/"+escape(name), wants)
			continue
		}
		if x.dependentSchemas == nil {
			x.dependentSchemas = map[string]*node{}
		}
		x.dependentSchemas[name] = r.c.compile(r.n.at + "/" + k + "/" + escape(name))
	}
}

// nameList reads a list of names.
func (r *reading) nameList(at string, v any) []string {
	list, ok := v.([]any)
	if !ok {
		r.wrong(at, "must be a list of names, not %s", show(v))
	}
	out := []string{}
	for i, x := range list {
		text, ok := x.(string)
		if !ok {
			r.wrong(at+"/"+strconv.Itoa(i), "must be a name, not %s", show(x))
		}
		out = append(out, text)
	}
	return out
}

func (r *reading) logic() {
	x := logicRules{all: r.schemas("allOf"), any: r.schemas("anyOf"), one: r.schemas("oneOf"), not: r.schema("not"), cond: r.schema("if")}
	if x.cond != nil {
		x.then, x.els = r.schema("then"), r.schema("else")
	}
	if x.all != nil || x.any != nil || x.one != nil || x.not != nil || x.cond != nil {
		r.n.logic = &x
	}
}

// findCycle reports an error if a schema applies itself to the same value without end.
func (c *compiler) findCycle() {
	const open, closed = 1, 2
	state := map[*node]int{}
	var visit func(n *node)
	visit = func(n *node) {
		switch state[n] {
		case open:
			c.wrong(n.at, "refers to itself for the same value, without end")
			fallthrough
		case closed:
			return
		}
		state[n] = open
		n.inPlace(visit)
		state[n] = closed
	}
	for _, n := range c.queue {
		if len(c.errs) == 0 {
			visit(n)
		}
	}
}
