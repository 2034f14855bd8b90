package console

import "testing"

func TestFill(t *testing.T) {
	if got := Wrap("aa  bb\ncc dddd é", 5); got != "aa bb\ncc\ndddd\né" {
		t.Errorf("Printable returns %q", got)
	}
}
