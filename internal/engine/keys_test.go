package engine_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/data/runconf"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/runtime/host"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
	"github.com/concerto-lang/concerto/runtime/llm"
	"github.com/concerto-lang/concerto/runtime/mcp/mcpport"
	"github.com/concerto-lang/concerto/runtime/merge"
	"github.com/concerto-lang/concerto/runtime/workspace"
)

// TestKeysAreDecoded compares the manifest's keys in sections that are passed on as JSON with the
// fields into which they are decoded. Each key must have a field, and each field must have a key.
func TestKeysAreDecoded(t *testing.T) {
	hosts := map[string]bool{
		"params":        true, // in another member of the IR
		"message_types": true, // read by the checker
		"unsafe_mode":   true, // read by the manifest's parser
		"sandbox":       true, // as codex_sandbox; the section of this name has other keys
		// read by the VM:
		"question_timeout": true,
		"schema_repairs":   true,
		"gate":             true,
		"gate_timeout":     true,
		"on_plan_limit":    true,
		"max_wait":         true,
	}
	for _, m := range hostmsg.Messages() {
		if m.Default != "" {
			hosts[m.Default] = true // read by the VM
		}
	}
	connections := members(map[string]bool{"script": true}, reflect.TypeFor[llm.Connection]()) // the script is read by the driver
	delete(connections, "origin")                                                              // the driver adds it
	maps.DeleteFunc(connections, func(name string, _ bool) bool { return strings.HasPrefix(name, "model_settings") })
	for name := range members(map[string]bool{"like": true, "cache": true, "cache_min": true}, reflect.TypeFor[models.Settings]()) {
		connections["models.*."+name] = true // which a models.Override replaces
	}
	run := members(map[string]bool{}, reflect.TypeFor[runconf.Config]())
	delete(run, "unknown")
	for _, name := range []string{"http", "command", "mcp", "file", "tool", "*"} {
		run["unknown."+name] = true // read by Config.Policy
	}
	for section, read := range map[string]map[string]bool{
		"connections.*": connections,
		"limits":        members(map[string]bool{}, reflect.TypeFor[ir.Limits]()),
		"hosts.*":       members(members(members(members(hosts, reflect.TypeFor[host.Config]()), reflect.TypeFor[host.Bounds]()), reflect.TypeFor[adapter.Vendor]()), reflect.TypeFor[host.Access]()),
		"mcp.*":         members(map[string]bool{}, reflect.TypeFor[mcpport.Config]()),
		"tools.*":       members(map[string]bool{}, engine.ToolForm),
		"run":           run,
		"workspace":     members(map[string]bool{}, reflect.TypeFor[workspace.Config]()),
		"merge.*":       members(map[string]bool{}, reflect.TypeFor[merge.Config]()),
	} {
		for _, k := range manifest.Keys() {
			name, ok := strings.CutPrefix(k.Path, section+".")
			if !ok || strings.Contains(name, "replies[]") { // the tests of runtime/llm check those
				continue
			}
			if !read[name] {
				t.Errorf("no code reads %s: add a field of that name to its performer's Config", k.Path)
			}
			delete(read, name)
		}
		for name := range read {
			t.Errorf("code decodes %s.%s, which is not a key: add a row to internal/compile/manifest/keys.go", section, name)
		}
	}
}

// TestDefaultsOfRun compares the defaults of a program without a [run] section with the manual.
func TestDefaultsOfRun(t *testing.T) {
	c, err := runconf.Read(nil)
	if err != nil {
		t.Fatal(err)
	}
	v := reflect.ValueOf(c)
	for i := range v.NumField() {
		name := v.Type().Field(i).Tag.Get("json")
		for _, k := range manifest.Keys() {
			if k.Path != "run."+name {
				continue
			}
			got, _ := json.Marshal(v.Field(i).Interface())
			want := cmp.Or(k.Default, `""`)
			if want == "[]" {
				want = "null"
			}
			if string(got) != want {
				t.Errorf("default of %s = %s, want %s as in the manual", k.Path, got, want)
			}
		}
	}
}

// members adds the JSON names of a struct's fields, including embedded structs. The name of a field
// in a subsection is prefixed with the subsection's name and a dot.
func members(to map[string]bool, of reflect.Type) map[string]bool {
	for i := range of.NumField() {
		f := of.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		typ := f.Type
		if typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		if typ.Kind() == reflect.Map && typ.Elem().Kind() == reflect.Struct {
			name, typ = name+".*", typ.Elem()
		}
		switch {
		case f.Anonymous && typ.Kind() == reflect.Struct:
			members(to, typ)
		case name == "" || name == "-":
		case typ.Kind() == reflect.Struct:
			for inner := range members(map[string]bool{}, typ) {
				to[name+"."+inner] = true
			}
		default:
			to[name] = true
		}
	}
	return to
}
