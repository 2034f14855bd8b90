package value

import (
	"strings"
	"testing"
)

// TestSplit compares the parts of a text with those of strings.Split, for all numbers of parts.
func TestSplit(t *testing.T) {
	for _, sep := range []string{",", ", ", "é"} {
		for n := 1; n < 2*mostPacked+3; n++ {
			parts := make([]string, n)
			for i := range parts {
				parts[i] = strings.Repeat("é", i%3) + strings.Repeat("x", i%5)
			}
			if sep == "é" {
				parts[n-1] = ""
			}
			text := strings.Join(parts, sep)
			want := strings.Split(text, sep)
			split := func() Slot { return Split(text, sep, len(want), nil) }
			plain := StringArray(want)

			s := split()
			if h := (*Array)(s.Ref); h.Kind != KindArray || h.Len != len(want) || (h.Sub == ReprStrs) != (len(want) <= mostPacked) {
				t.Fatalf("head of the array of %d parts = %v", len(want), h.Head)
			}
			if size := Size(s); size < arraySize+len(want)*int(SlotSize) {
				t.Fatalf("size of the array of %d parts = %d bytes", len(want), size)
			}
			if !Equal(s, plain) || !Equal(plain, split()) {
				t.Fatalf("Split = %s, want %s", Text(split()), Text(plain))
			}
			if got, want := string(AppendJSON(nil, split())), string(AppendJSON(nil, plain)); got != want {
				t.Fatalf("parts = %s, want %s", got, want)
			}

			shared := split()
			Share(shared)
			own := Own(shared)
			own.Array().Push(Int(1))
			own.Array().Set(0, String("first"))
			if !Equal(shared, plain) || own.Array().Len != len(want)+1 || own.Array().At(0).AsString() != "first" {
				t.Fatalf("copy of the array %s = %s", Text(shared), Text(own))
			}
			a := split().Array()
			for i := range want {
				if a.At(i).AsString() != want[i] || a.At(i).Str().Len() != len([]rune(want[i])) {
					t.Fatalf("part %d of %q = %s", i, text, Text(a.At(i)))
				}
			}
			for i := len(want) - 1; i >= 0; i-- {
				if s, ok := a.Pop(); !ok || s.AsString() != want[i] {
					t.Fatalf("Pop of part %d = %s", i, Text(s))
				}
			}
		}
	}
}
