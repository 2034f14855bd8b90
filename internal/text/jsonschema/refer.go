package jsonschema

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// place is a value in the document that may be a schema or that a reference may name.
type place struct {
	at       string
	value    any
	resource *resource
	dynamic  string // value of its $dynamicAnchor
}

// escape returns a name in the form of a JSON pointer's token.
func escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

// isData reports whether the value of a keyword is data, which contains no schemas. within is the
// keyword that contains this one.
func isData(keyword, within string) bool {
	switch within[strings.LastIndexByte(within, '/')+1:] {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
		return false // the members are schemas, whatever their names are
	}
	switch keyword {
	case "const", "enum", "default", "examples":
		return true
	}
	return false
}

// index records every value of the document, together with the names that references can use for
// it.
func (c *compiler) index(v any, at, base string, r *resource) {
	if c.places == nil {
		c.places = map[string]*place{}
	}
	if r == nil {
		r = &resource{}
		c.resources[""] = &place{at: at, value: v, resource: r}
	}
	p := &place{at: at, value: v, resource: r}
	o, isObject := v.(map[string]any)
	if isObject {
		if id, ok := o["$id"].(string); ok && !(c.dialect == draft07 && o["$ref"] != nil) {
			base = c.identify(p, base, id)
		}
		c.anchor(p, base, o)
	}
	c.places[at] = p
	if isObject {
		for name, x := range o {
			if !isData(name, at) {
				c.index(x, at+"/"+escape(name), base, p.resource)
			}
		}
		return
	}
	if list, ok := v.([]any); ok {
		for i, x := range list {
			c.index(x, at+"/"+strconv.Itoa(i), base, r)
		}
	}
}

// identify registers a resource under its id, and returns the absolute id as the new base.
func (c *compiler) identify(p *place, base, id string) string {
	if name, ok := strings.CutPrefix(id, "#"); ok && c.dialect == draft07 {
		c.anchors[base+"#"+name] = p
		return base
	}
	full, err := resolve(base, id)
	if err != nil {
		c.wrong(p.at+"/$id", "%q is no URI: %v", id, err)
		return base
	}
	full, _, _ = strings.Cut(full, "#")
	if p.at != "" || p.resource == nil {
		p.resource = &resource{}
	}
	p.resource.base = full
	if c.resources[full] != nil && full != "" {
		c.wrong(p.at+"/$id", "%q names two schemas", id)
	}
	c.resources[full] = p
	return full
}

func (c *compiler) anchor(p *place, base string, o map[string]any) {
	if c.dialect != draft2020 {
		return
	}
	if name, ok := o["$anchor"].(string); ok {
		c.anchors[base+"#"+name] = p
	}
	if name, ok := o["$dynamicAnchor"].(string); ok {
		c.anchors[base+"#"+name] = p
		p.dynamic = name
		if p.resource.dynamic == nil {
			p.resource.dynamic = map[string]*node{}
		}
		p.resource.dynamic[name] = c.compile(p.at)
	}
}

func resolve(base, ref string) (string, error) {
	b, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	u, err := b.Parse(ref)
	if err != nil {
		return "", err
	}
	return u.String(), nil
}

// refer returns the node of the schema that a reference names.
func (c *compiler) refer(p *place, at string, ref any) *node {
	to, err := c.find(p, ref)
	if err != nil {
		c.wrong(at, "%v", err)
		return nil
	}
	return c.compile(to.at)
}

func (c *compiler) referDynamic(p *place, at string, ref any) *dynamicRef {
	to, err := c.find(p, ref)
	if err != nil {
		c.wrong(at, "%v", err)
		return nil
	}
	d := &dynamicRef{static: c.compile(to.at)}
	if _, name, _ := strings.Cut(ref.(string), "#"); name == to.dynamic {
		d.anchor = name
	}
	return d
}

func (c *compiler) find(p *place, ref any) (*place, error) {
	text, ok := ref.(string)
	if !ok {
		return nil, fmt.Errorf("must be a reference, not %s", show(ref))
	}
	full, err := resolve(p.resource.base, text)
	if err != nil {
		return nil, fmt.Errorf("%q is no reference: %v", text, err)
	}
	base, fragment, _ := strings.Cut(full, "#")
	within := c.resources[base]
	if within == nil {
		return nil, fmt.Errorf("%q is another document: a schema may refer only to itself", text)
	}
	fragment, err = url.PathUnescape(fragment)
	if err != nil {
		return nil, fmt.Errorf("%q is no reference: %v", text, err)
	}
	to := c.anchors[base+"#"+fragment]
	if fragment == "" || strings.HasPrefix(fragment, "/") {
		to = c.places[within.at+fragment]
	}
	if to == nil {
		return nil, fmt.Errorf("%q is not there", text)
	}
	return to, nil
}
