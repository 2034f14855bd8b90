package effect

import (
	"reflect"
	"testing"
)

// TestNumbered checks that each request and result with a field ID implements Numbered, and that
// each family has a request that opens its objects.
func TestNumbered(t *testing.T) {
	opened, used := map[string]bool{}, map[string]bool{}
	numbered := func(x any) bool {
		v := reflect.ValueOf(x).Elem()
		id := v.FieldByName("ID")
		has := id.IsValid() && id.Kind() == reflect.Int64
		n, ok := x.(Numbered)
		if has != ok {
			t.Errorf("%T has a field ID: %v, implements Numbered: %v, want the same", x, has, ok)
		}
		if ok {
			*n.Number() = 7
			if id.Int() != 7 {
				t.Errorf("Number of %T does not point to its field ID", x)
			}
		}
		return ok
	}
	for _, row := range Table() {
		if numbered(row.Request()) {
			used[row.Kind.Family()] = true
		}
		if row.Result != nil && numbered(row.Result()) {
			opened[row.Kind.Family()] = true
		}
	}
	for family := range used {
		if !opened[family] {
			t.Errorf("no result opens the objects that requests of the family %q use", family)
		}
	}
}
