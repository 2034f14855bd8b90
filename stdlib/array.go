package stdlib

import (
	"slices"
	"strings"
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

var arrayNatives = native.Table{
	{"Array.len", func(a *vm.Args) (value.Slot, error) { return value.Int(int64(a.Array(0).Len)), nil }},
	{"Array.is_empty", func(a *vm.Args) (value.Slot, error) { return value.Bool(a.Array(0).Len == 0), nil }},
	{"Array.first", arrayFirst},
	{"Array.last", arrayLast},
	{"Array.get", arrayGet},
	{"Array.contains", func(a *vm.Args) (value.Slot, error) { return value.Bool(find(a, a.Array(0), a.Slot(1)) >= 0), nil }},
	{"Array.index_of", arrayIndexOf},
	{"Array.push", arrayPush},
	{"Array.pop", arrayPop},
	{"Array.insert", arrayInsert},
	{"Array.remove", arrayRemove},
	{"Array.clear", arrayClear},
	{"Array.extend", arrayExtend},
	{"Array.truncate", arrayTruncate},
	{"Array.swap", arraySwap},
	{"Array.zip", arrayZip},
	{"Array.enumerate", arrayEnumerate},
	{"Array.reverse", arrayReverse},
	{"Array.unique", arrayUnique},
	{"Array.join", arrayJoin},
	{"Array.slice", arraySlice},
	{"Array.take", arrayTake},
	{"Array.skip", arraySkip},
	{"Array.chunks", arrayChunks},
	{"Array.windows", arrayWindows},
	{"Array.to_string", textOfValue},
	{"Array.sort", arraySort},
	{"Array.min", arrayMin},
	{"Array.max", arrayMax},
	{"Array.sum", arraySum(value.Int(0))},
	{"Array.sum_float", arraySum(value.Float(0))},
	{"Array.product", arrayProduct(value.Int(1))},
	{"Array.product_float", arrayProduct(value.Float(1))},
	{"__order", arrayOrder},
	{"__least", arrayLeast},
	{"__greatest", arrayGreatest},
}

func arrayFirst(a *vm.Args) (value.Slot, error) {
	if x := a.Array(0); x.Len > 0 {
		return value.Some(native.MarkShared(x.At(0))), nil
	}
	return value.Nil, nil
}

func arrayLast(a *vm.Args) (value.Slot, error) {
	if x := a.Array(0); x.Len > 0 {
		return value.Some(native.MarkShared(x.At(x.Len - 1))), nil
	}
	return value.Nil, nil
}

func arrayGet(a *vm.Args) (value.Slot, error) {
	x, i := a.Array(0), a.Int(1)
	if i < 0 {
		return value.Nil, value.Faultf("get: the index %d is negative", i)
	}
	if i >= int64(x.Len) {
		return value.Nil, nil
	}
	return value.Some(native.MarkShared(x.At(int(i)))), nil
}

// find returns the index of the first element of x that equals s, or -1 if there is none.
func find(a *vm.Args, x *value.Array, s value.Slot) int {
	if x.Sub == value.ReprInts && s.Kind() == value.KindInt {
		v := x.Ints()
		for from := 0; from < len(v); from += native.PartSize {
			part := v[from:min(from+native.PartSize, len(v))]
			if i := slices.Index(part, s.AsInt()); i >= 0 {
				return from + i
			}
			a.Step(len(part) >> 2)
		}
		return -1
	}
	for i := range x.Len {
		if value.EqualIn(a.Pace(), x.At(i), s) {
			return i
		}
	}
	return -1
}

func arrayIndexOf(a *vm.Args) (value.Slot, error) {
	if i := find(a, a.Array(0), a.Slot(1)); i >= 0 {
		return value.Int(int64(i)), nil
	}
	return value.Nil, nil
}

func arrayPush(a *vm.Args) (value.Slot, error) {
	a.Array(0).Push(native.MarkShared(a.Slot(1)))
	return value.Nil, nil
}

func arrayPop(a *vm.Args) (value.Slot, error) {
	s, ok := a.Array(0).Pop()
	if !ok {
		return value.Nil, nil
	}
	return value.Some(s), nil
}

// index returns argument i as an index into a sequence of length n. The index may equal n only if
// end is set.
func index(a *vm.Args, i, n int, end bool) (int, error) {
	at := a.Int(i)
	if at < 0 || at > int64(n) || at == int64(n) && !end {
		return 0, value.Faultf("index %d is out of range: the length is %d", at, n)
	}
	return int(at), nil
}

func arrayInsert(a *vm.Args) (value.Slot, error) {
	x := a.Array(0)
	i, err := index(a, 1, x.Len, true)
	if err == nil {
		chargeMove(a, x.Len-i)
		x.Insert(i, native.MarkShared(a.Slot(2)))
	}
	return value.Nil, err
}

// chargeMove reports to the pace that n elements are moved or copied.
func chargeMove(a *vm.Args, n int) { a.Step(n >> 4) }

func arrayRemove(a *vm.Args) (value.Slot, error) {
	x := a.Array(0)
	i, err := index(a, 1, x.Len, false)
	if err != nil {
		return value.Nil, err
	}
	if i > 0 {
		chargeMove(a, x.Len-i)
	}
	return x.Remove(i), nil
}

func arrayClear(a *vm.Args) (value.Slot, error) {
	*a.Array(0) = *value.NewArray()
	return value.Nil, nil
}

func arrayExtend(a *vm.Args) (value.Slot, error) {
	x, y := a.Array(0), a.Array(1)
	a.Room(x.ReserveSize(y.Len))
	chargeMove(a, y.Len)
	x.Extend(y)
	return value.Nil, nil
}

func arrayTruncate(a *vm.Args) (value.Slot, error) {
	n, err := count(a, "truncate")
	if err == nil {
		x := a.Array(0)
		x.Truncate(min(n, x.Len))
	}
	return value.Nil, err
}

// count returns argument 1, a number of elements, which must not be negative. A number greater than
// any possible length is reduced.
func count(a *vm.Args, name string) (int, error) {
	n := a.Int(1)
	if n < 0 {
		return 0, value.Faultf("%s: the count %d is negative", name, n)
	}
	return int(min(n, 1<<40)), nil
}

func arraySwap(a *vm.Args) (value.Slot, error) {
	x := a.Array(0)
	i, err := index(a, 1, x.Len, false)
	if err != nil {
		return value.Nil, err
	}
	j, err := index(a, 2, x.Len, false)
	if err != nil {
		return value.Nil, err
	}
	x.Swap(i, j)
	return value.Nil, nil
}

// pairSize is the size of a pair in an array, in bytes.
const pairSize = 4 * int(value.SlotSize)

func arrayZip(a *vm.Args) (value.Slot, error) {
	x, y := a.Array(0), a.Array(1)
	a.Room(min(x.Len, y.Len) * pairSize)
	out := value.NewArray()
	for i := range min(x.Len, y.Len) {
		a.Step(2)
		out.Push(value.Tuple(native.MarkShared(x.At(i)), native.MarkShared(y.At(i))))
	}
	return out.Slot(), nil
}

func arrayEnumerate(a *vm.Args) (value.Slot, error) {
	x := a.Array(0)
	a.Room(x.Len * pairSize)
	out := value.NewArray()
	for i := range x.Len {
		a.Step(2)
		out.Push(value.Tuple(value.Int(int64(i)), native.MarkShared(x.At(i))))
	}
	return out.Slot(), nil
}

func arrayReverse(a *vm.Args) (value.Slot, error) {
	x := a.Array(0)
	a.Step(x.Len >> 2)
	y := x.Slice(0, x.Len)
	switch y.Sub {
	case value.ReprInts:
		slices.Reverse(y.Ints())
	case value.ReprFloats:
		slices.Reverse(y.Floats())
	case value.ReprBools:
		slices.Reverse(y.Bools())
	case value.ReprSlots:
		slices.Reverse(y.Slots())
	}
	return y.Slot(), nil
}

// arrayUnique removes duplicates. It finds them by a hash if all elements are Ints, all are Floats
// or all are Strings. Otherwise it compares all pairs.
func arrayUnique(a *vm.Args) (value.Slot, error) {
	x := a.Array(0)
	out := value.NewArray()
	if x.Len == 0 {
		return out.Slot(), nil
	}
	kind := x.At(0).Kind()
	hashed := kind == value.KindInt || kind == value.KindString
	for i := 1; hashed && x.Sub == value.ReprSlots && i < x.Len; i++ {
		a.Step(1)
		hashed = x.At(i).Kind() == kind
	}
	if x.Sub == value.ReprFloats {
		return uniqueFloats(a, x), nil
	}
	seen := value.NewMap(0)
	for i := range x.Len {
		a.Step(4)
		s := x.At(i)
		if hashed {
			if _, ok := seen.Get(s); ok {
				continue
			}
			seen.Set(s, value.Nil)
		} else if find(a, out, s) >= 0 {
			continue
		}
		out.Push(native.MarkShared(s))
	}
	return out.Slot(), nil
}

// uniqueFloats removes duplicates from an array of Floats. It retains every NaN, because a NaN
// equals no value.
func uniqueFloats(a *vm.Args, x *value.Array) value.Slot {
	out, seen := value.NewArray(), map[float64]bool{}
	for _, f := range x.Floats() {
		a.Step(8)
		if !seen[f] {
			seen[f] = true
			out.Push(value.Float(f))
		}
	}
	return out.Slot()
}

func arrayJoin(a *vm.Args) (value.Slot, error) {
	x, sep := a.Array(0), a.String(1)
	if n := stringsJoined(a, x, len(sep)); n >= 0 && n <= native.MaxText {
		a.Room(n)
		return joinStrings(a, x.Slots(), sep, n), nil
	}
	var out []byte
	text := native.Growing{Args: a}
	for i := range x.Len {
		if i > 0 {
			out = append(out, sep...)
		}
		if i == joinSample { // reserve memory for all elements, estimated from the first ones
			most := native.MaxText
			if b := a.TextBound().Max; b > 0 {
				most = b / 4 // the remaining elements may be shorter
			}
			out = slices.Grow(out, min((len(out)/joinSample+1)*(x.Len-i), most))
		}
		if s := x.At(i); s.Kind() == value.KindString {
			a.Step(1 + len(s.AsString())>>6)
			out = append(out, s.AsString()...)
		} else {
			out = value.AppendTextWithin(out, s, a.TextBound())
		}
		if err := text.Reserve(len(out), "join"); err != nil {
			return value.Nil, err
		}
	}
	return value.String(unsafe.String(unsafe.SliceData(out), len(out))), nil
}

// stringsJoined returns the length of the joined text of an array of Strings, or -1 for any other
// array.
func stringsJoined(a *vm.Args, x *value.Array, sep int) int {
	if x.Len == 0 || x.Sub != value.ReprSlots {
		return -1
	}
	n := sep * (x.Len - 1)
	for _, s := range x.Slots() {
		a.Step(1)
		if s.Kind() != value.KindString {
			return -1
		}
		n += len(s.AsString())
	}
	return n
}

// joinStrings joins Strings to a text with n bytes.
func joinStrings(a *vm.Args, slots []value.Slot, sep string, n int) value.Slot {
	var out strings.Builder
	out.Grow(n) // Grow does not write zeros first
	for i, s := range slots {
		if i > 0 {
			out.WriteString(sep)
		}
		a.Step(1 + len(s.AsString())>>6)
		out.WriteString(s.AsString())
	}
	return value.String(out.String())
}

// joinSample is the number of elements from which join estimates the length of its result.
const joinSample = 64

func arraySlice(a *vm.Args) (value.Slot, error) {
	x := a.Array(0)
	lo, hi, err := bounds(a, x.Len)
	if err != nil {
		return value.Nil, err
	}
	chargeMove(a, hi-lo)
	return x.Part(lo, hi).Slot(), nil
}

func arrayTake(a *vm.Args) (value.Slot, error) {
	x := a.Array(0)
	n, err := count(a, "take")
	if err != nil {
		return value.Nil, err
	}
	chargeMove(a, min(n, x.Len))
	return x.Part(0, min(n, x.Len)).Slot(), nil
}

func arraySkip(a *vm.Args) (value.Slot, error) {
	x := a.Array(0)
	n, err := count(a, "skip")
	if err != nil {
		return value.Nil, err
	}
	chargeMove(a, x.Len-min(n, x.Len))
	return x.Part(min(n, x.Len), x.Len).Slot(), nil
}

// size returns argument 1, a length, which must be positive.
func size(a *vm.Args, name string) (int, error) {
	n := a.Int(1)
	if n <= 0 {
		return 0, value.Faultf("%s: the length %d is not positive", name, n)
	}
	return int(min(n, 1<<40)), nil
}

func arrayChunks(a *vm.Args) (value.Slot, error) {
	x := a.Array(0)
	n, err := size(a, "chunks")
	if err != nil {
		return value.Nil, err
	}
	out := value.NewArray()
	for i := 0; i < x.Len; i += n {
		a.Step(2 + min(n, x.Len)>>4)
		part := x.Slice(i, min(i+n, x.Len)).Slot()
		a.Room(value.Size(part))
		out.Push(part)
	}
	return out.Slot(), nil
}

func arrayWindows(a *vm.Args) (value.Slot, error) {
	x := a.Array(0)
	n, err := size(a, "windows")
	if err != nil {
		return value.Nil, err
	}
	out := value.NewArray()
	for i := 0; i+n <= x.Len; i++ {
		a.Step(2 + n>>4)
		part := x.Slice(i, i+n).Slot()
		a.Room(value.Size(part))
		out.Push(part)
	}
	return out.Slot(), nil
}
