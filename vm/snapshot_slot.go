package vm

import (
	"math"
	"unicode/utf8"
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/memstore"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// Encoding of values.

// Tags of slots. Scalars are stored in the slot. Declared values are stored by their number.
const (
	tagNil byte = iota
	tagFalse
	tagTrue
	tagInt
	tagFloat
	tagAbsent
	tagObject   // a reference to an entity
	tagUnit     // a variant without data
	tagFunction // a function without captures
	tagAgent
	tagHost
	tagTool
	tagType
	tagStore
	tagTask // a task; tagHashMap and tagLedger are for scopes of stores
	tagHashMap
	tagLedger
	tagShort // a String of at most one byte
)

// Slot encodes or decodes a value.
func (k *StateCodec) Slot(p *value.Slot) {
	if k.reading {
		*p = k.readSlot()
	} else {
		k.writeSlot(*p)
	}
}

func (k *StateCodec) slots(all []value.Slot) {
	for i := range all {
		k.Slot(&all[i])
	}
}

func (k *StateCodec) tagged(tag byte, n uint64) { k.writeUint(uint64(tag) | n<<5) }

func (k *StateCodec) writeSlot(s value.Slot) {
	switch s.Kind() {
	case value.KindNil:
		if s.Ref == absent.Ref {
			k.tagged(tagAbsent, 0)
		} else {
			k.tagged(tagNil, 0)
		}
	case value.KindInt:
		k.tagged(tagInt, 0)
		n := s.AsInt()
		k.Int(&n)
	case value.KindFloat:
		k.tagged(tagFloat, 0)
		k.uint64(&s.Bits)
	case value.KindBool:
		k.tagged(tagFalse+byte(bit(s.AsBool())), 0)
	case value.KindString:
		k.writeString(s)
	case value.KindArray:
		k.tagged(tagObject, k.id(entityArray, s.Ref))
	case value.KindMap:
		k.tagged(tagObject, k.id(entityMap, s.Ref))
	case value.KindEnum:
		k.writeEnum(s)
	case value.KindClosure:
		k.writeClosure(s)
	case value.KindAgent:
		k.writeDeclared(tagAgent, k.m.declared.agents, s)
	case value.KindHost:
		k.writeDeclared(tagHost, k.m.declared.hosts, s)
	case value.KindTool:
		k.writeTool(s)
	case value.KindTypeDesc:
		t := s.TypeDesc()
		k.tagged(tagType, 0)
		k.typ(&t)
	case value.KindHandle:
		k.writeHandle(s)
	default:
		k.tagged(tagObject, k.id(entityBlock, s.Ref))
	}
}

// writeString encodes a String that exists only once by its value: the empty String, or a String of
// one ASCII character.
func (k *StateCodec) writeString(s value.Slot) {
	switch text := s.AsString(); {
	case text == "":
		k.tagged(tagShort, 0)
	case len(text) == 1:
		k.tagged(tagShort, 1+uint64(text[0]))
	default:
		k.tagged(tagObject, k.id(entityString, s.Ref))
	}
}

func (k *StateCodec) writeEnum(s value.Slot) {
	t, n := s.Type(), s.Variant()
	if len(s.Fields()) == 0 && t != nil && n < len(t.Variants) && t.Variants[n].Unit == s {
		k.tagged(tagUnit, uint64(n))
		k.typ(&t)
		return
	}
	k.tagged(tagObject, k.id(entityBlock, s.Ref))
}

func (k *StateCodec) writeClosure(s value.Slot) {
	n := functionOf(s).number
	if k.m.image.closures[n].Ref == s.Ref {
		k.tagged(tagFunction, uint64(n))
		return
	}
	k.tagged(tagObject, k.id(entityClosure, s.Ref))
}

// writeDeclared encodes an agent or a host: a declared one by its number, and one to which the
// program has added options as an entity.
func (k *StateCodec) writeDeclared(tag byte, all []value.Slot, s value.Slot) {
	if n := s.Party().Index(); all[n].Ref == s.Ref {
		k.tagged(tag, uint64(n))
		return
	}
	k.tagged(tagObject, k.id(entityBlock, s.Ref))
}

func (k *StateCodec) writeTool(s value.Slot) {
	for i, x := range k.m.declared.tools {
		if x.self.Ref == s.Ref {
			k.tagged(tagTool, uint64(i))
			return
		}
	}
	k.refuse("a value is a tool that the program does not declare")
}

func (k *StateCodec) writeHandle(s value.Slot) {
	switch x := s.Handle().Object.(type) {
	case *task:
		k.tagged(tagTask, k.id(entityTask, unsafe.Pointer(x)))
	case *memstore.HashMap:
		k.tagged(tagHashMap, k.id(entityHashMap, unsafe.Pointer(x)))
	case *memstore.Ledger:
		k.tagged(tagLedger, k.id(entityLedger, unsafe.Pointer(x)))
	case *memstore.Memory, *memstore.Queue:
		for i := range k.m.declared.stores {
			if k.m.declared.stores[i].Ref == s.Ref {
				k.tagged(tagStore, uint64(i))
				return
			}
		}
		k.refuse("a value is a store that the program does not declare")
	default:
		k.tagged(tagObject, k.id(entityHandle, s.Ref))
	}
}

func (k *StateCodec) readSlot() value.Slot {
	x := k.readUint()
	n := x >> 5
	switch tag := byte(x & 31); tag {
	case tagNil:
		return value.Nil
	case tagFalse:
		return value.Bool(false)
	case tagTrue:
		return value.Bool(true)
	case tagInt:
		var i int64
		k.Int(&i)
		return value.Int(i)
	case tagFloat:
		var w uint64
		k.uint64(&w)
		return value.Float(math.Float64frombits(w))
	case tagAbsent:
		return absent
	case tagShort:
		return k.readShort(n)
	case tagObject:
		return k.object(n)
	case tagTask, tagHashMap, tagLedger:
		return k.readHandle(tag, n)
	default:
		return k.readDeclared(tag, n)
	}
}

func (k *StateCodec) readShort(n uint64) value.Slot {
	if n > 0 && k.require(n-1 < utf8.RuneSelf, "a text is not UTF-8") {
		return value.String(string(rune(n - 1)))
	}
	return value.String("")
}

// readDeclared returns the only value for declaration n of the program.
func (k *StateCodec) readDeclared(tag byte, n uint64) value.Slot {
	switch tag {
	case tagUnit:
		return k.readUnit(n)
	case tagFunction:
		if k.require(n < uint64(len(k.m.image.functions)), "there is no such function") && k.require(k.m.image.functions[n].info.Captures == 0, "a function has captures") {
			return k.m.image.closureOf(int(n))
		}
	case tagAgent:
		return k.declared(k.m.declared.agents, n)
	case tagHost:
		return k.declared(k.m.declared.hosts, n)
	case tagStore:
		return k.declared(k.m.declared.stores, n)
	case tagTool:
		if k.require(n < uint64(len(k.m.declared.tools)), "there is no such tool") {
			return k.m.declared.tools[n].self
		}
	case tagType:
		return k.readType()
	default:
		k.damaged("a value is of no kind")
	}
	return value.Nil
}

func (k *StateCodec) readUnit(n uint64) value.Slot {
	var t *value.Type
	k.typ(&t)
	if t == nil || n >= uint64(len(t.Variants)) || t.Variants[n].Unit.IsNil() {
		k.damaged("an enum's value is none of its type")
		return value.Nil
	}
	return t.Variants[n].Unit
}

// readHandle returns the value of a task or a store.
func (k *StateCodec) readHandle(tag byte, n uint64) value.Slot {
	switch tag {
	case tagTask:
		if t := (*task)(k.entity(entityTask, n)); t != nil && k.require(t.valued(), "a task is no value") {
			return value.Slot{Ref: unsafe.Pointer(&t.parts.handle)}
		}
	case tagHashMap:
		if h := (*memstore.HashMap)(k.entity(entityHashMap, n)); h != nil {
			return h.Value()
		}
	case tagLedger:
		if l := (*memstore.Ledger)(k.entity(entityLedger, n)); l != nil {
			return l.Value()
		}
	}
	return value.Nil
}

func (k *StateCodec) declared(all []value.Slot, n uint64) value.Slot {
	if n >= uint64(len(all)) {
		k.damaged("a value is declared nowhere")
		return value.Nil
	}
	return all[n]
}

// object returns entity n as a value.
func (k *StateCodec) object(n uint64) value.Slot {
	if n >= uint64(len(k.entities)) {
		k.damaged("a value refers to what is not there")
		return value.Nil
	}
	switch e := k.entities[n]; e.kind {
	case entityString, entityArray, entityMap, entityBlock, entityClosure, entityHandle:
		return value.Slot{Ref: e.p}
	}
	k.damaged("a value refers to what is no value")
	return value.Nil
}

// readType decodes a type as a value. For a type of the program it returns the value that all uses
// of the type share.
func (k *StateCodec) readType() value.Slot {
	var t *value.Type
	k.typ(&t)
	if t == nil {
		k.require(false, "a type is missing")
		return value.Nil
	}
	for i := range k.m.image.types {
		if k.m.image.types[i] == t {
			return k.m.image.typeDescs[i]
		}
	}
	return value.NewTypeDesc(t)
}

// Type encodes or decodes a type of the program, or nil.
func (k *StateCodec) Type(p **value.Type) { k.typ(p) }

// Tool encodes or decodes a tool of the program.
func (k *StateCodec) Tool(p **Tool) {
	n := 0
	if !k.reading {
		n = (*p).decl.index
	}
	if below(k, &n, len(k.m.declared.tools), "there is no such tool") {
		*p = k.m.declared.tools[n]
	}
}
