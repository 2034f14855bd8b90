package ast

import (
	"math"

	"github.com/concerto-lang/concerto/internal/text/source"
)

//go:generate go run ./gen decode_nodes.go

// Decode returns the tree that Encode has encoded. f is the file with the text of the tree. Data
// from another build causes a panic.
func Decode(data string, f *source.File) *File {
	d := &decoder{data: data, text: f.String()}
	out := &File{Source: f, IDs: number[int](d)}
	out.Decls = list(d, child[Decl])
	return out
}

// decoder reads a tree. Numbers have a variable length; a position and an id are the difference
// from the previous one.
type decoder struct {
	data  string
	text  string // of the file
	start source.Pos
	last  ID
}

func (d *decoder) uint() (n uint64) {
	for shift := 0; ; shift += 7 {
		b := d.data[0]
		d.data = d.data[1:]
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
}

func (d *decoder) int() int64 {
	n := d.uint()
	return int64(n>>1) ^ -int64(n&1)
}

func (d *decoder) bool() bool { return d.uint() != 0 }

func (d *decoder) float64() float64 { return math.Float64frombits(d.uint()) }

func (d *decoder) id() ID {
	d.last += ID(d.int())
	return d.last
}

func (d *decoder) span() source.Span {
	d.start += source.Pos(d.int())
	return source.Span{Start: d.start, End: d.start + source.Pos(d.int())}
}

// string returns a part of the data, or of the text at the last position, without copying it.
func (d *decoder) string() string {
	n := d.uint()
	if n&1 != 0 {
		return d.text[d.start:][:n>>1]
	}
	s := d.data[:n>>1]
	d.data = d.data[n>>1:]
	return s
}

func number[T ~int | ~uint8 | ~uint64](d *decoder) T { return T(d.int()) }

func child[T Node](d *decoder) (n T) {
	if x := d.node(); x != nil {
		n = x.(T)
	}
	return n
}

func list[T any](d *decoder, read func(*decoder) T) []T {
	n := d.uint()
	if n == 0 {
		return nil
	}
	all := make([]T, n-1)
	for i := range all {
		all[i] = read(d)
	}
	return all
}
