package effect

import (
	"reflect"
	"testing"
)

// Requests with a performer's number implement Numbered, and so does the result of a request that
// opens something.
func TestNumbered(t *testing.T) {
	opened, used := map[string]bool{}, map[string]bool{}
	numbered := func(x any) bool {
		v := reflect.ValueOf(x).Elem()
		id := v.FieldByName("ID")
		has := id.IsValid() && id.Kind() == reflect.Int64
		n, ok := x.(Numbered)
		if has != ok {
			t.Errorf("%T: has a number %v, implements Numbered %v", x, has, ok)
		}
		if ok {
			*n.Number() = 7
			if id.Int() != 7 {
				t.Errorf("%T returns the number of another object", x)
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
			t.Errorf("nothing opens what requests of %q name", family)
		}
	}
}
