package vm

import (
	"context"
	"reflect"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// freshProgram returns a program that declares one of each kind of declaration for which the loader
// creates a table.
func freshProgram() *asm {
	a := newAsm()
	for _, s := range []string{"a", "b", "c", "d", "e", "name"} {
		a.str(s)
	}
	a.typ(ir.TypeInfo{Kind: "string"})
	state := a.typ(ir.TypeInfo{Kind: "tool", Name: "T", Fields: []ir.FieldInfo{{Name: "n", Type: 0}}})
	a.fn("main() Full 4", `LoadConst r1 k4
		JumpEqualK r1 k0 @no
		JumpEqualK r1 k1 @no
		JumpEqualK r1 k2 @no
		JumpEqualK r1 k3 @no
		JumpEqualK r1 k4 @yes
		@no: LoadFunction r2 f1
		CallClosure r2 0
		Return r2
		@yes: Return r1`)
	a.fn("other() Full 2", "LoadConst r1 k5\nReturn r1")
	a.fn("method(Full) Full 3", "Return r1")
	a.Natives = []string{"fine"}
	a.Methods = []ir.Method{{Type: 0, Name: "name", Function: 2}}
	a.Agents = []ir.Agent{{Name: "A", Memory: -1}}
	a.Hosts = []ir.Host{{Name: "H"}}
	a.Stores = []ir.Store{{Kind: "memory", Name: "M"}}
	a.Tools = []ir.Tool{{Name: "T", State: state, Init: -1, Methods: []ir.ToolMethod{{Name: "m", Function: 2}}}}
	a.Pipelines = []ir.Pipeline{{Run: ir.ToolMethod{Name: "P", Function: 1}}}
	return a
}

// TestFreshBehavesLikeLoaded checks that a VM created by Fresh runs like the loaded VM.
func TestFreshBehavesLikeLoaded(t *testing.T) {
	m, err := New(freshConfig(freshProgram()))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		out, err := m.Run(context.Background())
		if err != nil || value.Text(out.Value) != "e" {
			t.Fatalf("got %v, %v", out, err)
		}
		if m, err = m.Fresh(func(c *Config) { c.Performer = effectless }); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFreshCopiesAllFields checks that a fresh VM has all fields that a loaded VM has. A field that
// Fresh does not copy would be empty in the fresh VM.
func TestFreshCopiesAllFields(t *testing.T) {
	config := freshConfig(freshProgram())
	config.Count.Points = true
	m, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := m.Fresh(func(c *Config) { c.Performer = effectless })
	if err != nil {
		t.Fatal(err)
	}
	sameShape(t, "VM", reflect.ValueOf(m).Elem(), reflect.ValueOf(fresh).Elem())
	for name, n := range map[string]int{"natives": len(m.image.natives), "agents": len(m.declared.agents), "hosts": len(m.declared.hosts), "stores": len(m.declared.stores), "tools": len(m.declared.tools)} {
		if n == 0 {
			t.Errorf("the program has no %s", name)
		}
	}
	image := reflect.ValueOf(m.image).Elem()
	for i := range image.NumField() {
		if name := image.Type().Field(i).Name; image.Field(i).IsZero() && name != "performing" && name != "called" && name != "reciprocals" && name != "counters" && name != "texts" && name != "mapped" && name != "debug" {
			t.Errorf("the program has no %s", name)
		}
	}
}

// sameShape compares each field of a loaded VM, and recursively of the structs in it, with the same
// field of the fresh VM.
func sameShape(t *testing.T, name string, loaded, fresh reflect.Value) {
	if loaded.IsZero() != fresh.IsZero() {
		t.Errorf("%s is set in only one of the two VMs", name)
	}
	switch loaded.Kind() {
	case reflect.Struct:
		for i := range loaded.NumField() {
			sameShape(t, name+"."+loaded.Type().Field(i).Name, loaded.Field(i), fresh.Field(i))
		}
	case reflect.Slice, reflect.Map:
		if loaded.Len() != fresh.Len() {
			t.Errorf("%s has %d elements in the loaded VM and %d in the fresh VM", name, loaded.Len(), fresh.Len())
		}
	}
}

func freshConfig(a *asm) Config {
	fine := func(*Args) (value.Slot, error) { return value.Nil, nil }
	return Config{Program: &a.Program, Performer: effectless, Natives: library(map[string]Native{"fine": fine})}
}
