package vm

import (
	"fmt"
	"slices"
	"sort"

	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// loadTypes creates the run-time types of the program's types. For a built-in error type it uses
// the type that package value defines.
func (m *loader) loadTypes() error {
	return m.moreTypes(0)
}

// moreTypes creates the run-time types of the types with the number from and above.
func (m *loader) moreTypes(from int) error {
	infos := m.program.Types
	m.types = append(m.types, make([]*value.Type, len(infos)-from)...)
	m.typeDescs = append(m.typeDescs, make([]value.Slot, len(infos)-from)...)
	for i := from; i < len(infos); i++ {
		info := &infos[i]
		if t := value.ErrorType(info.Name); t != nil && info.Kind == "error" {
			if !sameFields(t, info) {
				return fmt.Errorf("load type %s: its fields are not those of this version", t.Name)
			}
			m.types[i] = t
			continue
		}
		kind := value.TypeKindOf(info.Kind)
		if kind == value.TypeInvalid || kind == value.TypeError && info.Name != "" {
			return fmt.Errorf("load type %d: no type of kind %q named %q", i, info.Kind, info.Name)
		}
		m.types[i] = &value.Type{Kind: kind, Name: info.Name, Doc: info.Doc, Values: info.Values, Elements: info.Elements, Members: info.Members}
	}
	for i := from; i < len(infos); i++ {
		if err := m.fillType(m.types[i], &infos[i]); err != nil {
			return fmt.Errorf("load type %s: %w", infos[i].Name, err)
		}
		m.typeDescs[i] = value.NewTypeDesc(m.types[i])
	}
	for _, t := range m.types[from:] {
		if err := convertDefaults(t.Fields); err != nil {
			return fmt.Errorf("load type %s: %w", t.Name, err)
		}
		for i := range t.Variants {
			if err := convertDefaults(t.Variants[i].Fields); err != nil {
				return fmt.Errorf("load type %s: %w", t.Name, err)
			}
		}
	}
	return nil
}

// sameFields reports whether the program's definition of a built-in error type matches the
// definition in package value. A program compiled by an older version lacks the fields that were
// appended later.
func sameFields(t *value.Type, info *ir.TypeInfo) bool {
	if len(info.Fields) == 0 || len(info.Fields) > len(t.Fields) {
		return false
	}
	for i := range info.Fields {
		if t.Fields[i].Name != info.Fields[i].Name {
			return false
		}
	}
	return true
}

// convertDefaults converts the defaults of fields, which the program contains as JSON, to values of
// the fields' types.
func convertDefaults(fields []value.Field) error {
	for i := range fields {
		f := &fields[i]
		if !f.HasDefault {
			continue
		}
		v, errs := schema.Convert(f.Default, f.Type)
		if len(errs) > 0 {
			return fmt.Errorf("default of field %s: %s", f.Name, schema.Join(errs))
		}
		value.Share(v)
		f.Default = v
	}
	return nil
}

// TypeOf returns the type with an index in ir.Program.Types. Other images of the program have other
// types.
func TypeOf(m *VM, i int) *value.Type { return m.image.types[i] }

// fillType sets the references from t to other types.
func (m *loader) fillType(t *value.Type, info *ir.TypeInfo) error {
	if t.Kind == value.TypeError && t.Name != "" {
		return nil
	}
	for _, a := range info.Args {
		if a < 0 || a >= len(m.types) {
			return fmt.Errorf("no type %d", a)
		}
		t.Args = append(t.Args, m.types[a])
	}
	var err error
	if t.Fields, err = m.fields(info.Fields); err != nil {
		return err
	}
	for _, v := range info.Variants {
		fields, err := m.fields(v.Fields)
		if err != nil {
			return err
		}
		t.Variants = append(t.Variants, value.Variant{Name: v.Name, Named: v.Named, Fields: fields})
	}
	if t.Kind == value.TypeResult {
		t.Variants = value.ResultType.Variants
	}
	t.Seal()
	return nil
}

func (m *loader) fields(infos []ir.FieldInfo) ([]value.Field, error) {
	var fields []value.Field
	for _, f := range infos {
		if f.Type < 0 || f.Type >= len(m.types) {
			return nil, fmt.Errorf("field %s: no type %d", f.Name, f.Type)
		}
		field := value.Field{Name: f.Name, Type: m.types[f.Type], Doc: f.Doc, Optional: f.Optional}
		if f.Default != nil {
			v, err := value.Parse(f.Default)
			if err != nil {
				return nil, fmt.Errorf("default of field %s: %w", f.Name, err)
			}
			value.Share(v)
			field.HasDefault, field.Default = true, v
		}
		fields = append(fields, field)
	}
	return fields, nil
}

// method is one function that CallMethod may find under a name.
type method struct {
	on *value.Type
	fn *function
}

func (m *loader) loadMethods() error {
	m.methods = map[string][]method{}
	return m.moreMethods(0)
}

// moreMethods adds the methods with the number from and above. A method replaces an earlier one
// with the same name on the same type.
func (m *loader) moreMethods(from int) error {
	for _, x := range m.program.Methods[from:] {
		if x.Type < 0 || x.Type >= len(m.types) || x.Function < 0 || x.Function >= len(m.functions) {
			return fmt.Errorf("load method %s: no type %d or function %d", x.Name, x.Type, x.Function)
		}
		if from > 0 {
			params := m.functions[x.Function].Params
			m.methods[x.Name] = slices.DeleteFunc(slices.Clone(m.methods[x.Name]), func(o method) bool { return o.on == m.types[x.Type] && o.fn.Params == params })
		}
		m.methods[x.Name] = append(m.methods[x.Name], method{m.types[x.Type], &m.functions[x.Function]})
	}
	for _, all := range m.methods {
		sort.SliceStable(all, func(i, j int) bool { return all[i].rank() < all[j].rank() })
	}
	return nil
}

// rank orders methods: those on types that accept many values come after those on one type. An Any
// may once have been an Option, so Array.map comes before Option.map.
func (x method) rank() int {
	switch {
	case x.on.Kind == value.TypeOption || x.on.Kind == value.TypeAny:
		return 2
	case x.on.Kind == value.TypeError && x.on.Name == "":
		return 1
	}
	return 0
}

// appliesTo reports whether s has the method.
func (x method) appliesTo(s value.Slot) bool {
	if x.rank() == 1 {
		return value.IsError(s)
	}
	return hasType(s, x.on)
}
