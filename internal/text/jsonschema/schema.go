// Package jsonschema validates JSON values against JSON Schemas of draft 2020-12 and draft-07. It
// reports all violations of a value in words that a model or a person can act on. It reports the
// errors of a schema with their positions. It also finds the parts of a value that a schema marks
// as secret.
//
// A schema can refer only to itself. Numbers are compared exactly. The keyword format is checked
// for formats that isFormat knows, and otherwise ignored; keywords that neither draft defines are
// ignored, too. The package does no work when it is initialised, so programs without tools do not
// pay for it.
package jsonschema

import (
	"encoding/json"
	"math/big"
	"regexp"
	"strings"
)

// Schema is a compiled schema. It is safe for concurrent use.
type Schema struct {
	root      *node
	tracks    bool // a keyword depends on what other keywords have evaluated
	secretive bool // a part is marked writeOnly or x-redact
}

// SchemaError is an error in a schema.
type SchemaError struct {
	Pointer string // position of the error in the schema, as a JSON pointer
	Why     string
}

func (m SchemaError) Error() string {
	if m.Pointer == "" {
		return m.Why
	}
	return m.Pointer + ": " + m.Why
}

// Problem is a violation of a schema by a value.
type Problem struct {
	Path    string `json:"path"` // "items[3].price"; "" is the whole
	Message string `json:"message"`
}

func (p Problem) String() string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

// node is a compiled schema or subschema.
type node struct {
	at       string // position in the document, as a JSON pointer
	always   *bool  // result for the schemas true and false; nil for others
	resource *resource
	ref      *node
	dynamic  *dynamicRef
	types    []string
	values   *values
	numbers  *numberRules
	texts    *textRules
	arrays   *arrayRules
	objects  *objectRules
	logic    *logicRules
	secret   bool
}

// resource is a schema with a base URI. A $dynamicRef searches resources for anchors.
type resource struct {
	base    string
	dynamic map[string]*node
}

type dynamicRef struct {
	static *node
	anchor string // "" if the reference does not name a $dynamicAnchor
}

type values struct {
	enum    []any // allowed values; a const is a single allowed value
	isConst bool
}

type numberRules struct {
	min, max, above, below, multiple *bound
}

// bound is a limit and its original text.
type bound struct {
	rat  *big.Rat
	text string
}

type textRules struct {
	minLength, maxLength *int
	pattern              *regexp.Regexp
	format               string
}

type arrayRules struct {
	prefix                   []*node
	items                    *node // schema of the items after prefix
	contains                 *node
	minContains, maxContains *int
	minItems, maxItems       *int
	unique                   bool
	unevaluated              *node
}

type objectRules struct {
	properties        map[string]*node
	names             []string // sorted names of properties
	patterns          []patternRule
	additional        *node
	propertyNames     *node
	required          []string
	minimum, maximum  *int
	dependentRequired map[string][]string
	dependentSchemas  map[string]*node
	unevaluated       *node
}

type patternRule struct {
	pattern *regexp.Regexp
	node    *node
}

type logicRules struct {
	all, any, one   []*node
	not             *node
	cond, then, els *node
}

// HasSecrets reports whether the schema marks a part of values as secret.
func (s *Schema) HasSecrets() bool { return s.secretive }

// inPlace calls f for each subschema that the node applies to the same value.
func (n *node) inPlace(f func(*node)) {
	visit := func(list ...*node) {
		for _, x := range list {
			if x != nil {
				f(x)
			}
		}
	}
	visit(n.ref)
	if n.dynamic != nil {
		visit(n.dynamic.static)
	}
	if l := n.logic; l != nil {
		visit(l.all...)
		visit(l.any...)
		visit(l.one...)
		visit(l.not, l.cond, l.then, l.els)
	}
	if n.objects != nil {
		for _, x := range n.objects.dependentSchemas {
			visit(x)
		}
	}
}

// Names of the drafts. The value of `$schema` may begin with "https://" or "http://", and may end
// with an empty fragment.
const (
	draft2020 = "json-schema.org/draft/2020-12/schema"
	draft07   = "json-schema.org/draft-07/schema"
)

func dialect(name string) string {
	for _, scheme := range []string{"https://", "http://"} {
		if rest, ok := strings.CutPrefix(name, scheme); ok {
			switch rest = strings.TrimSuffix(rest, "#"); rest {
			case draft2020, draft07:
				return rest
			}
		}
	}
	return ""
}

// number returns the exact value of a number. Decode must have accepted the number.
func number(n json.Number) *big.Rat {
	r, _ := new(big.Rat).SetString(string(n))
	return r
}
