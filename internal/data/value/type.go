package value

// TypeKind is the form of a run-time type.
type TypeKind uint8

// The forms. Their names in the IR are those of ir.TypeInfo.Kind.
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
	TypeError // a built-in error type; the type Error if Name is ""
	TypeFunction
	TypeRange
	TypeAgent
	TypeHost
	TypeTool
	TypeMemory
	TypeHashMap
	TypeLedger
	TypeTask
	TypeQueue
)

var typeKindNames = [...]string{"invalid", "int", "float", "string", "bool", "nil", "any", "never", "array", "map", "option",
	"result", "tuple", "struct", "schema", "enum", "union", "error", "function", "range", "agent", "host", "tool", "memory",
	"hashmap", "ledger", "task", "queue"}

func (k TypeKind) String() string { return typeKindNames[k] }

// TypeKindOf returns the form with a name in the IR, or TypeInvalid if there is none.
func TypeKindOf(name string) TypeKind {
	for i, n := range typeKindNames {
		if n == name {
			return TypeKind(i)
		}
	}
	return TypeInvalid
}

// Type is a type at run time. Values like structs point to their type.
type Type struct {
	Kind     TypeKind
	Name     string // for struct, schema, enum, error, agent, host and tool
	Doc      string
	Args     []*Type
	Fields   []Field // for struct, schema, error and tool: slot i contains field i
	Variants []Variant
	Values   []string // for a union
	Elements bool     // for a struct: its JSON is the array of the elements or values in its first field
	// for a struct: the last field is a map whose entries count as fields, also in JSON
	Members bool
}

// Field is a field of a struct, of a similar type, or of a variant.
type Field struct {
	Name       string
	Type       *Type
	Doc        string
	Optional   bool // declared as `name?`; nil if it is absent
	HasDefault bool
	Default    Slot // default value, if HasDefault is set; marked as shared
}

// LeftOut reports whether the JSON of a value omits the field. This is the case if the field is
// optional, and absent or, in an error, empty or false.
func (f *Field) LeftOut(s Slot) bool {
	return f.Optional && (s.IsNil() || f.Type != nil && (f.Type.Kind == TypeString && s.AsString() == "" || f.Type.Kind == TypeBool && !s.AsBool()))
}

// Variant is a variant of an enum. Unit is the value of a variant without a payload, which all uses
// share.
type Variant struct {
	Name   string
	Named  bool // the fields of the payload have names
	Fields []Field
	Unit   Slot
}

// ResultType is the type of all Results that the VM creates.
var ResultType = &Type{Kind: TypeResult, Name: "Result", Variants: []Variant{
	{Name: "Ok", Fields: []Field{{Name: "0"}}}, {Name: "Err", Fields: []Field{{Name: "0"}}}}}

// AnyType is the type Any.
var AnyType = &Type{Kind: TypeAny}

// Seal creates the unit values of an enum type. It must be called after the variants were set.
func (t *Type) Seal() {
	for i := range t.Variants {
		if v := &t.Variants[i]; len(v.Fields) == 0 {
			v.Unit = New(KindEnum, uint16(i), t)
			(*Head)(v.Unit.Ref).Flags |= FlagShared
		}
	}
}

// FieldIndex returns the index of the field with a name, or -1.
func (t *Type) FieldIndex(name string) int {
	for i := range t.Fields {
		if t.Fields[i].Name == name {
			return i
		}
	}
	return -1
}

// Struct returns a value of a struct or schema type with one slot per field.
func (t *Type) Struct(slots ...Slot) Slot { return New(KindStruct, 0, t, slots...) }

// Enum returns a value of variant n of an enum type.
func (t *Type) Enum(n int, slots ...Slot) Slot {
	if v := &t.Variants[n]; len(slots) == 0 && v.Unit.Ref != nil {
		return v.Unit
	}
	return New(KindEnum, uint16(n), t, slots...)
}

// String returns the type in the language's syntax.
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

// typeWords contains the names of reference types without a declared name.
var typeWords = map[TypeKind]string{TypeAgent: "Agent", TypeHost: "Host", TypeTool: "Tool", TypeMemory: "Memory",
	TypeHashMap: "HashMap", TypeLedger: "Ledger", TypeTask: "Task", TypeQueue: "Queue"}

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
