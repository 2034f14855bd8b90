package sema

import (
	"fmt"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// DefKind is the kind of a declaration.
type DefKind uint8

// The kinds of Def.
const (
	DefModule DefKind = iota
	DefStruct
	DefSchema
	DefEnum
	DefAlias
	DefTrait
	DefTypeParam
	DefBuiltin // a type without a declaration, such as Int
	DefFunction
	DefMethod
	DefConst
	DefAgent
	DefHost
	DefTool
	DefStore
	DefPipeline
	DefStage
	DefField
	DefVariant
	DefVariable
	DefParam
	DefLabel
	DefDecorator
	DefConnection // a connection in the manifest
	DefConnector  // a host's section in the manifest
)

// Def describes the declaration to which a name refers.
type Def struct {
	Kind DefKind
	Name string
	// Info belongs to the file that contains the declaration. It is nil if there is no declaration
	// in a file.
	Info *Info
	// At is the position of the declared name. For a module that is a file, it is the start of the
	// file.
	At source.Span
	// Node is the declaration in the syntax tree: an ast.Decl, *ast.FieldDecl, *ast.Variant,
	// *ast.Param, *ast.Stage or *ast.TypeParam. It is nil for variables, and for modules that are
	// files.
	Node ast.Node
	// Owner is the name of the type, tool or pipeline that contains a member, or "".
	Owner string
	// Object is the declared value, or nil. Type is the type of this value, or the declared type,
	// or nil.
	Object Object
	Type   types.Type
	// File contains the tables of a module that is a file.
	File *Info
}

// Ref is a name in the source text that refers to a declaration.
type Ref struct {
	At  source.Span
	Def *Def
	// Decl reports that the name is the declared name. Write reports that the program assigns to
	// the name. Short reports that one word refers to both a field and a variable, so that there
	// are two Refs at the same position.
	Decl, Write, Short bool
}

// objectDef returns the Def of an object, or nil.
func (c *checker) objectDef(info *Info, o Object) *Def {
	switch o := o.(type) {
	case *Local:
		kind := DefVariable
		if o.Param {
			kind = DefParam
		}
		return &Def{Kind: kind, Name: o.Name, Info: info, At: o.At, Object: o, Type: o.Type}
	case *Function:
		return c.functionDef(o)
	case *VariantRef:
		return c.variantDef(o)
	case *Agent:
		return declDef(o.Info, o.Decl, o)
	case *Host:
		return declDef(o.Info, o.Decl, o)
	case *Tool:
		if o.Decl != nil {
			return declDef(o.Info, o.Decl, o)
		}
	case *Pipeline:
		return declDef(o.Info, o.Decl, o)
	case *Const:
		if o.decl != nil {
			return declDef(o.Info, o.decl, o)
		}
	}
	return nil
}

// declDef returns the Def of the declaration d.
func declDef(info *Info, d ast.Decl, o Object) *Def {
	h := d.Head()
	if h.Name == nil {
		return nil
	}
	def := &Def{Kind: kindOf(d), Name: h.Name.Name, Info: info, At: h.Name.Sp, Node: d, Object: o}
	if k, ok := o.(*Const); ok {
		def.Type = k.Type
	}
	return def
}

func kindOf(d ast.Decl) DefKind {
	switch d.(type) {
	case *ast.StructDecl:
		return DefStruct
	case *ast.SchemaDecl:
		return DefSchema
	case *ast.EnumDecl:
		return DefEnum
	case *ast.TypeDecl:
		return DefAlias
	case *ast.TraitDecl:
		return DefTrait
	case *ast.ConstDecl:
		return DefConst
	case *ast.AgentDecl:
		return DefAgent
	case *ast.HostDecl:
		return DefHost
	case *ast.ToolDecl, *ast.McpDecl:
		return DefTool
	case *ast.StoreDecl:
		return DefStore
	case *ast.PipelineDecl:
		return DefPipeline
	case *ast.ModDecl:
		return DefModule
	case *ast.FnDecl:
		return DefFunction
	case *ast.ImplDecl, *ast.UseDecl, *ast.BadDecl: // they have no definition
	}
	panic(fmt.Sprintf("sema: %T is no definition", d))
}

func (c *checker) functionDef(fn *Function) *Def {
	if fn.Decl == nil || fn.Decl.Name == nil || fn.Undeclared {
		return nil
	}
	d := declDef(fn.Info, fn.Decl, fn)
	switch {
	case fn.Tool != nil:
		d.Kind, d.Owner = DefMethod, fn.Tool.Name
	case fn.trait != nil:
		d.Kind, d.Owner = DefMethod, fn.trait.trait.Name
	case fn.assoc != nil:
		d.Kind, d.Owner = DefMethod, (&impl{target: fn.assoc}).name()
	}
	return d
}

func (c *checker) variantDef(v *VariantRef) *Def {
	if v.Variant == nil {
		return &Def{Kind: DefVariant, Name: v.Name, Type: v.Type, Object: v}
	}
	n, ok := v.Type.(*types.Named)
	if !ok {
		return nil
	}
	o := originOf(n.Decl)
	decl, ok := c.typeNode(n.Decl).(*ast.EnumDecl)
	if !ok {
		return nil
	}
	for _, x := range decl.Variants {
		if x.Name.Name == v.Name {
			return &Def{Kind: DefVariant, Name: v.Name, Info: o.mod.info, At: x.Name.Sp, Node: x, Owner: n.Decl.Name, Object: v, Type: n}
		}
	}
	return nil
}

// typeNode returns the declaration of a type in the syntax tree.
func (c *checker) typeNode(d *types.Decl) ast.Decl {
	if e := originOf(d).mod.names[d.Name]; e != nil && e.typ == d {
		return e.decl
	}
	return nil
}

// typeDef returns the Def of a type.
func (c *checker) typeDef(d *types.Decl) *Def {
	node := c.typeNode(d)
	if node == nil {
		return nil
	}
	def := declDef(originOf(d).mod.info, node, nil)
	def.Type = generic(d)
	return def
}

// fieldDef returns the Def of a field of type t, or of its variant v.
func (c *checker) fieldDef(t types.Type, v *types.Variant, name string) *Def {
	switch x := types.Loose(t).(type) {
	case *types.Named:
		var fields []*ast.FieldDecl
		switch d := c.typeNode(x.Decl).(type) {
		case *ast.StructDecl:
			fields = d.Fields
		case *ast.SchemaDecl:
			fields = d.Fields
		case *ast.EnumDecl:
			if v != nil && v.Index < len(d.Variants) {
				fields = d.Variants[v.Index].Fields
			}
		default: // the others have no fields
		}
		return fieldAmong(originOf(x.Decl).mod.info, fields, name, x.Decl.Name)
	case *types.Declared:
		if tool, ok := x.Origin.(*Tool); ok && tool.Decl != nil {
			return fieldAmong(tool.Info, tool.Decl.Fields, name, tool.Name)
		}
	}
	return nil
}

func fieldAmong(info *Info, fields []*ast.FieldDecl, name, owner string) *Def {
	for _, f := range fields {
		if f.Name.Name == name && name != "" {
			return fieldDeclDef(info, f, owner)
		}
	}
	return nil
}

func fieldDeclDef(info *Info, f *ast.FieldDecl, owner string) *Def {
	def := &Def{Kind: DefField, Name: f.Name.Name, Info: info, At: f.Name.Sp, Node: f, Owner: owner}
	if f.Type != nil {
		if def.Type = info.Written(f.Type); f.Optional {
			def.Type = types.NewOption(def.Type)
		}
	}
	return def
}

// entityDef returns the Def of a module's name.
func (c *checker) entityDef(e *entity) *Def {
	switch {
	case e == nil || e.refused && e.decl == nil:
		return nil
	case e.module != nil:
		return moduleDef(e)
	case e.builtin != nil:
		return &Def{Kind: DefBuiltin, Name: e.name, Type: e.builtin}
	case e.typ != nil:
		return c.typeDef(e.typ)
	case e.obj != nil:
		if e.decl == nil || e.mod == nil {
			return c.objectDef(nil, e.obj)
		}
		if fn, ok := e.obj.(*Function); ok {
			return c.functionDef(fn)
		}
		return declDef(e.mod.info, e.decl, e.obj)
	case e.decl != nil && e.mod != nil:
		if _, isUse := e.decl.(*ast.UseDecl); !isUse {
			def := declDef(e.mod.info, e.decl, nil)
			if e.alias != nil && def != nil {
				def.Type = e.alias.typ
			}
			return def
		}
	}
	return nil
}

func moduleDef(e *entity) *Def {
	if d, ok := e.decl.(*ast.ModDecl); ok && d.Inline {
		return declDef(e.mod.info, d, nil)
	}
	return &Def{Kind: DefModule, Name: e.name, Info: e.module.info, File: e.module.info}
}

// TypeDefs returns the Defs of the types that t contains, or of t itself.
func (p *Program) TypeDefs(t types.Type) []*Def {
	switch x := types.Resolve(t).(type) {
	case *types.Named, *types.Declared:
		if d := p.checker.ownerDef(x); d != nil {
			return []*Def{d}
		}
	case *types.Array:
		return p.TypeDefs(x.Elem)
	case *types.Option:
		return p.TypeDefs(x.Elem)
	case *types.Task:
		return p.TypeDefs(x.Elem)
	case *types.Result:
		return p.TypeDefs(x.Ok)
	case *types.Map:
		return p.TypeDefs(x.Value)
	case *types.HashMap:
		return p.TypeDefs(x.Value)
	case *types.Queue:
		return p.TypeDefs(x.Elem)
	}
	return nil
}
