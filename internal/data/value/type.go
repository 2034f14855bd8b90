package value

// TypeKind is the form of a run-time type.
type TypeKind uint8

// The forms, named as ir.TypeInfo.Kind names them.
const (
	TypeInvalid TypeKind = iota
	TypeInt
	TypeFloat
	TypeString
	TypeBool
	TypeNil
	TypeAny
	TypeNever
	TypeArray  // Args: element
	TypeMap    // Args: key, value
	TypeOption // Args: payload
	TypeResult // Args: ok, err; may be absent
	TypeTuple  // Args: elements
	TypeStruct
	TypeSchema
	TypeEnum
	TypeUnion // Values
	TypeError // a built-in error type; without a Name the type Error
	TypeFunction
	TypeRange
	TypeAgent
	TypeHost
	TypeTool
	TypeMemory
	TypeHashMap
	TypeLedger
	TypeTask
)

var typeKindNames = [...]string{"invalid", "int", "float", "string", "bool", "nil", "any", "never", "array", "map", "option",
	"result", "tuple", "struct", "schema", "enum", "union", "error", "function", "range", "agent", "host", "tool", "memory",
	"hashmap", "ledger", "task"}

func (k TypeKind) String() string { return typeKindNames[k] }

// TypeKindOf finds a form by its name in the IR; TypeInvalid when no form has
// that name.
func TypeKindOf(name string) TypeKind {
	for i, n := range typeKindNames {
		if n == name {
			return TypeKind(i)
		}
	}
	return TypeInvalid
}

// Type is a type at run time. Struct-like values point to theirs.
type Type struct {
	Kind     TypeKind
	Name     string // of struct, schema, enum, error, agent, host, tool
	Doc      string
	Args     []*Type
	Fields   []Field // of struct, schema, error, tool: slot i holds field i
	Variants []Variant
	Values   []string // of a union
	Elements bool     // of a struct: as JSON it is the array of its first field's elements or values
	// of a struct: its last field is a map whose entries count as fields, as in JSON
	Members bool
}

// Field is a field of a struct-like type or of a variant.
type Field struct {
	Name       string
	Type       *Type
	Doc        string
	Optional   bool // declared `name?`: nil when absent
	HasDefault bool
	Default    Slot // its own value when HasDefault; marked shared
}

// LeftOut reports whether the field is no member of its value as JSON: it is optional, and absent
// or, in an error, empty or false.
func (f *Field) LeftOut(s Slot) bool {
	return f.Optional && (s.IsNil() || f.Type != nil && (f.Type.Kind == TypeString && s.AsString() == "" || f.Type.Kind == TypeBool && !s.AsBool()))
}

// Variant is a variant of an enum. Unit is the one value of a variant without
// payload; all uses share it.
type Variant struct {
	Name   string
	Named  bool // the payload's fields have names
	Fields []Field
	Unit   Slot
}

// ResultType is the type of every Result that the VM makes.
var ResultType = &Type{Kind: TypeResult, Name: "Result", Variants: []Variant{
	{Name: "Ok", Fields: []Field{{Name: "0"}}}, {Name: "Err", Fields: []Field{{Name: "0"}}}}}

// AnyType is the type Any.
var AnyType = &Type{Kind: TypeAny}

// Seal makes the unit values of an enum type, after its variants are set.
func (t *Type) Seal() {
	for i := range t.Variants {
		if v := &t.Variants[i]; len(v.Fields) == 0 {
			v.Unit = New(KindEnum, uint16(i), t)
			(*Head)(v.Unit.Ref).Flags |= FlagShared
		}
	}
}

// FieldIndex finds a field by name; -1 when there is none.
func (t *Type) FieldIndex(name string) int {
	for i := range t.Fields {
		if t.Fields[i].Name == name {
			return i
		}
	}
	return -1
}

// Struct makes a value of a struct or schema type from one slot a field.
func (t *Type) Struct(slots ...Slot) Slot { return New(KindStruct, 0, t, slots...) }

// Enum makes a value of variant n of an enum type.
func (t *Type) Enum(n int, slots ...Slot) Slot {
	if v := &t.Variants[n]; len(slots) == 0 && v.Unit.Ref != nil {
		return v.Unit
	}
	return New(KindEnum, uint16(n), t, slots...)
}

// String returns the type as a user would write it.
func (t *Type) String() string {
	switch t.Kind {
	case TypeInt:
		return "Int"
	case TypeFloat:
		return "Float"
	case TypeString:
		return "String"
	case TypeBool:
		return "Bool"
	case TypeNil:
		return "Nil"
	case TypeAny:
		return "Any"
	case TypeNever:
		return "Never"
	case TypeArray:
		return "Array" + t.args()
	case TypeMap:
		return "Map" + t.args()
	case TypeOption:
		return "Option" + t.args()
	case TypeResult:
		return "Result" + t.args()
	case TypeTuple:
		s := "("
		for i, a := range t.Args {
			if i > 0 {
				s += ", "
			}
			s += a.String()
		}
		return s + ")"
	case TypeUnion:
		s := ""
		for i, v := range t.Values {
			if i > 0 {
				s += " | "
			}
			s += string(AppendString(nil, v))
		}
		return s
	case TypeFunction:
		return "Function"
	case TypeRange:
		return "Range"
	case TypeError:
		if t.Name == "" {
			return "Error"
		}
		return t.Name
	}
	if t.Name != "" {
		return t.Name
	}
	return typeWords[t.Kind]
}

// typeWords names the types of references without a declared name.
var typeWords = map[TypeKind]string{TypeAgent: "Agent", TypeHost: "Host", TypeTool: "Tool", TypeMemory: "Memory",
	TypeHashMap: "HashMap", TypeLedger: "Ledger", TypeTask: "Task"}

func (t *Type) args() string {
	if len(t.Args) == 0 {
		return ""
	}
	s := "<"
	for i, a := range t.Args {
		if i > 0 {
			s += ", "
		}
		s += a.String()
	}
	return s + ">"
}
