package formats

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/yamlcore"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

var YAML = native.Table{
	{"yaml.parse", func(a *vm.Args) (value.Slot, error) { return yamlOne(a) }},
	{"yaml.parse_all", yamlAll},
	{"yaml.parse_as", func(a *vm.Args) (value.Slot, error) {
		v, err := yamlOne(a)
		return typedData(a, v, err)
	}},
	{"yaml.stringify", yamlStringify},
}

// typedData converts the parsed value v to the type in argument 1.
func typedData(a *vm.Args, v value.Slot, err error) (value.Slot, error) {
	if err != nil {
		return value.Nil, err
	}
	v, err = native.Convert(a, v, a.Type(1))
	if err != nil {
		return value.Nil, value.Errorf("FormatError", "%s", err)
	}
	return v, nil
}

// formatError returns a FormatError for a position. If line is 0, the position is unknown.
func formatError(line, column int, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	switch {
	case line > 0 && column > 0:
		text += fmt.Sprintf(", line %d, column %d", line, column)
	case line > 0:
		text += fmt.Sprintf(", line %d", line)
	}
	return value.Errorf("FormatError", "%s", text).
		With("line", value.Int(int64(line))).With("column", value.Int(int64(column)))
}

// yamlOne parses a text with at most one document. The value of a text without a document is nil.
func yamlOne(a *vm.Args) (value.Slot, error) {
	d := newYAMLReader(a)
	v, err := d.document()
	if errors.Is(err, io.EOF) {
		return value.Nil, nil
	}
	if err != nil {
		return value.Nil, err
	}
	var more yaml.Node
	switch err := d.decoder.Decode(&more); {
	case err == nil:
		return value.Nil, formatError(more.Line, more.Column, "a second document begins; yaml::parse_all reads all of them")
	case !errors.Is(err, io.EOF):
		return value.Nil, yamlError(err)
	}
	return v, nil
}

func yamlAll(a *vm.Args) (value.Slot, error) {
	d := newYAMLReader(a)
	all := value.NewArray()
	for {
		v, err := d.document()
		if errors.Is(err, io.EOF) {
			return all.Slot(), nil
		}
		if err != nil {
			return value.Nil, err
		}
		all.Push(v)
	}
}

// maxAliased is the maximum number of values that the aliases of a text may represent.
const maxAliased = 1_000_000

// yamlReader converts YAML documents to values.
type yamlReader struct {
	a       *vm.Args
	decoder *yaml.Decoder
	values  int                 // number of values that may still be read
	open    map[*yaml.Node]bool // anchors that are being read
}

func newYAMLReader(a *vm.Args) *yamlReader {
	text := a.String(0)
	a.Pace().Bytes(len(text))
	a.Room(len(text))
	return &yamlReader{a: a, decoder: yaml.NewDecoder(strings.NewReader(yamlcore.Source(text))), values: len(text) + maxAliased, open: map[*yaml.Node]bool{}}
}

// document reads the next document. After the last one, the error is io.EOF.
func (d *yamlReader) document() (value.Slot, error) {
	var doc yaml.Node
	if err := d.decoder.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return value.Nil, io.EOF
		}
		return value.Nil, yamlError(err)
	}
	if len(doc.Content) != 1 {
		return value.Nil, nil
	}
	return d.value(doc.Content[0], 0)
}

// yamlError converts an error of the YAML library about a text that is not YAML.
func yamlError(err error) error {
	var e *yaml.LoadError
	if !errors.As(err, &e) {
		return formatError(0, 0, "%s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	return formatError(e.Mark.Line, e.Mark.Column, "%s", e.Message)
}

func (d *yamlReader) value(n *yaml.Node, depth int) (value.Slot, error) {
	d.a.Step(1)
	if d.values--; d.values < 0 {
		return value.Nil, formatError(n.Line, n.Column, "the aliases expand to more than %d values", maxAliased)
	}
	if depth > value.MaxDepth {
		return value.Nil, formatError(n.Line, n.Column, "it is nested more than %d levels deep", value.MaxDepth)
	}
	switch n.Kind {
	case yaml.AliasNode:
		if d.open[n.Alias] {
			return value.Nil, formatError(n.Line, n.Column, "`*%s` refers to itself", n.Value)
		}
		return d.value(n.Alias, depth+1)
	case yaml.ScalarNode:
		return yamlScalar(n)
	}
	if n.Style&yaml.TaggedStyle != 0 && n.Tag != "!!map" && n.Tag != "!!seq" {
		return value.Nil, formatError(n.Line, n.Column, "unknown tag `%s`", n.Tag)
	}
	d.open[n] = true
	defer delete(d.open, n)
	if n.Kind == yaml.MappingNode {
		return d.mapping(n, depth)
	}
	list := value.NewArray()
	for _, c := range n.Content {
		v, err := d.value(c, depth+1)
		if err != nil {
			return value.Nil, err
		}
		list.Push(v)
	}
	return list.Slot(), nil
}

// mapping reads a mapping. The entries that `<<` merges come after the mapping's own entries. They
// do not replace entries with the same key.
func (d *yamlReader) mapping(n *yaml.Node, depth int) (value.Slot, error) {
	m := value.NewMap(len(n.Content) / 2)
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, c := n.Content[i], n.Content[i+1]
		for k.Kind == yaml.AliasNode {
			k = k.Alias
		}
		switch {
		case k.Kind != yaml.ScalarNode:
			return value.Nil, formatError(k.Line, k.Column, "a key must be a string, not a mapping or a list")
		case k.Value == "<<" && k.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0:
			merged = append(merged, c)
			continue
		}
		if _, twice := m.GetString(k.Value); twice {
			return value.Nil, formatError(k.Line, k.Column, "duplicate key `%s`", k.Value)
		}
		v, err := d.value(c, depth+1)
		if err != nil {
			return value.Nil, err
		}
		m.SetString(k.Value, v)
	}
	for _, c := range merged {
		if err := d.merge(m, c, depth); err != nil {
			return value.Nil, err
		}
	}
	return m.Slot(), nil
}

// merge adds the entries of a mapping, or of each mapping in a list, to m. It does not replace
// existing entries.
func (d *yamlReader) merge(m *value.Map, n *yaml.Node, depth int) error {
	v, err := d.value(n, depth+1)
	if err != nil {
		return err
	}
	all := []value.Slot{v}
	if v.Kind() == value.KindArray {
		all = v.Array().Slots()
	}
	for _, from := range all {
		if from.Kind() != value.KindMap {
			return formatError(n.Line, n.Column, "`<<` merges a mapping or a list of mappings")
		}
		from.Map().Each(func(k, v value.Slot) bool {
			if _, own := m.Get(k); !own {
				m.Set(k, native.MarkShared(v))
			}
			return true
		})
	}
	return nil
}

func yamlScalar(n *yaml.Node) (value.Slot, error) {
	plain := *n
	if n.Style&yaml.TaggedStyle != 0 {
		switch n.Tag {
		case "!!str", "!":
			return value.String(n.Value), nil
		case "!!int", "!!float", "!!bool", "!!null":
			plain.Style = 0
		default:
			return value.Nil, formatError(n.Line, n.Column, "unknown tag `%s`", n.Tag)
		}
	}
	var v value.Slot
	tag := "!!str"
	switch x := yamlcore.Scalar(&plain).(type) {
	case nil:
		v, tag = value.Nil, "!!null"
	case bool:
		v, tag = value.Bool(x), "!!bool"
	case int64:
		v, tag = value.Int(x), "!!int"
		if n.Tag == "!!float" && n.Style&yaml.TaggedStyle != 0 {
			v, tag = value.Float(float64(x)), "!!float"
		}
	case float64:
		v, tag = value.Float(x), "!!float"
	case json.Number:
		return value.Nil, formatError(n.Line, n.Column, "the number %s does not fit into an Int", n.Value)
	case string:
		v = value.String(x)
	}
	if n.Style&yaml.TaggedStyle != 0 && n.Tag != tag {
		return value.Nil, formatError(n.Line, n.Column, "%q is not a value of the tag `%s`", n.Value, n.Tag)
	}
	return v, nil
}

func yamlStringify(a *vm.Args) (value.Slot, error) {
	data, err := plainData(a)
	if err != nil {
		return value.Nil, err
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(yamlNode(a, data)), e.Close()); err != nil {
		return value.Nil, value.Faultf("stringify: %s", err)
	}
	return value.StringOwning(b.Bytes()), nil
}

// plainData converts argument 0 to its JSON form, which consists of maps, arrays and scalars.
func plainData(a *vm.Args) (value.Slot, error) {
	return value.ParseIn(value.AppendJSONWithin(nil, a.Slot(0), a.TextBound()), a.Room, a.Pace())
}

func yamlNode(a *vm.Args, v value.Slot) *yaml.Node {
	a.Step(1)
	scalar := func(tag, text string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text} }
	switch v = value.Flatten(v); v.Kind() {
	case value.KindMap:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		v.Map().Each(func(k, v value.Slot) bool {
			n.Content = append(n.Content, yamlText(value.Text(k)), yamlNode(a, v))
			return true
		})
		return n
	case value.KindArray:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		array := v.Array()
		for i := range array.Len {
			n.Content = append(n.Content, yamlNode(a, array.At(i)))
		}
		return n
	case value.KindString:
		return yamlText(v.AsString())
	case value.KindInt:
		return scalar("!!int", strconv.FormatInt(v.AsInt(), 10))
	case value.KindFloat:
		f := v.AsFloat()
		text := strconv.FormatFloat(f, 'g', -1, 64)
		if f == math.Trunc(f) && !strings.Contains(text, "e") {
			text += ".0"
		}
		return scalar("!!float", text)
	case value.KindBool:
		return scalar("!!bool", strconv.FormatBool(v.AsBool()))
	}
	return scalar("!!null", "null")
}

// yamlText returns a node for a text. The text is quoted if YAML would otherwise read it as another
// value.
func yamlText(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if _, text := yamlcore.Scalar(n).(string); !text || s == "<<" {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}
