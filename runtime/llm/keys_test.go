package llm

import (
	"reflect"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/manifest"
)

// TestKeysOfRepliesAreDecoded compares the manifest's keys of scripted replies with the fields into
// which they are decoded.
func TestKeysOfRepliesAreDecoded(t *testing.T) {
	read := map[string]bool{}
	var add func(prefix string, of reflect.Type)
	add = func(prefix string, of reflect.Type) {
		for i := range of.NumField() {
			name := of.Field(i).Tag.Get("json")
			if name == "" {
				continue
			}
			read[prefix+name] = true
			typ := of.Field(i).Type
			switch list := typ.Kind() == reflect.Slice; {
			case list && typ.Elem().Kind() == reflect.Struct:
				add(prefix+name+"[].", typ.Elem())
			case typ.Kind() == reflect.Pointer && typ.Elem().Kind() == reflect.Struct:
				add(prefix+name+".", typ.Elem())
			}
		}
	}
	add("connections.*.replies[].", reflect.TypeFor[scriptedReply]())
	for _, k := range manifest.Keys() {
		if strings.HasPrefix(k.Path, "connections.*.replies[].") && !read[k.Path] {
			t.Errorf("no code reads %s: add a field of that name to scriptedReply", k.Path)
		}
		delete(read, k.Path)
	}
	for path := range read {
		t.Errorf("code decodes %s, which is not a key: add a row to internal/compile/manifest/keys.go", path)
	}
}
