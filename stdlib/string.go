package stdlib

import (
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

var stringNatives = native.Table{
	{"String.len", func(a *vm.Args) (value.Slot, error) { return value.Int(int64(a.Str(0).LenIn(a.Pace()))), nil }},
	{"String.is_empty", func(a *vm.Args) (value.Slot, error) { return value.Bool(a.String(0) == ""), nil }},
	{"String.contains", stringContains},
	{"String.starts_with", stringTest(strings.HasPrefix)},
	{"String.ends_with", stringTest(strings.HasSuffix)},
	{"String.index_of", stringIndex(value.IndexIn)},
	{"String.last_index_of", stringIndex(value.LastIndexIn)},
	{"String.char_at", stringCharAt},
	{"String.slice", stringSlice},
	{"String.substring", stringSlice},
	{"String.split", stringSplit},
	{"String.split_once", stringSplitOnce},
	{"String.lines", stringLines},
	{"String.split_whitespace", stringFields},
	{"String.chars", func(a *vm.Args) (value.Slot, error) { return characters(a, a.String(0)), nil }},
	{"String.bytes", stringBytes},
	{"String.code_points", stringCodePoints},
	{"String.is_digit", stringIs(func(r rune) bool { return '0' <= r && r <= '9' })},
	{"String.is_alphabetic", stringIs(unicode.IsLetter)},
	{"String.is_alphanumeric", stringIs(func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })},
	{"String.is_whitespace", stringIs(unicode.IsSpace)},
	{"string.from_code_points", stringFromCodePoints},
	{"String.trim", stringTrim(true, true)},
	{"String.trim_start", stringTrim(true, false)},
	{"String.trim_end", stringTrim(false, true)},
	{"String.trim_prefix", stringMap2(strings.TrimPrefix)},
	{"String.trim_suffix", stringMap2(strings.TrimSuffix)},
	{"String.replace", stringReplace(-1)},
	{"String.replace_first", stringReplace(1)},
	{"String.to_upper", stringCase('a', strings.ToUpper)},
	{"String.to_lower", stringCase('A', strings.ToLower)},
	{"String.capitalize", stringCapitalize},
	{"String.repeat", stringRepeat},
	{"String.reverse", stringReverse},
	{"String.pad_left", stringPad(true)},
	{"String.pad_right", stringPad(false)},
	{"String.count", stringCount},
	{"String.parse_int", stringParseInt},
	{"String.parse_float", stringParseFloat},
	{"String.matches", stringMatches},
	{"String.compare", stringCompare},
}

// stringTest returns a native that tests the beginning or the end of a text. Its time is
// proportional to the length of part.
func stringTest(f func(s, part string) bool) vm.Native {
	return func(a *vm.Args) (value.Slot, error) {
		a.Pace().Bytes(len(a.String(1)) >> 2)
		return value.Bool(f(a.String(0), a.String(1))), nil
	}
}

func stringContains(a *vm.Args) (value.Slot, error) {
	return value.Bool(value.IndexIn(a.Pace(), a.String(0), a.String(1)) >= 0), nil
}

func stringTrim(start, end bool) vm.Native {
	return func(a *vm.Args) (value.Slot, error) {
		s := a.String(0)
		if start && end {
			return changedString(a, native.Trim(a, s)), nil
		}
		if start {
			s = native.TrimStart(a, s, native.TrimLeft)
		}
		if end {
			s = native.TrimEnd(a, s, native.TrimRight)
		}
		return changedString(a, s), nil
	}
}

// stringMap2 returns a native that removes a part at the beginning or the end of a text.
func stringMap2(f func(s, t string) string) vm.Native {
	return func(a *vm.Args) (value.Slot, error) {
		a.Pace().Bytes(len(a.String(1)) >> 2)
		return changedString(a, f(a.String(0), a.String(1))), nil
	}
}

// changedString returns s as a String. If s equals the receiver's text, it returns the receiver,
// which preserves the cached data of the receiver.
func changedString(a *vm.Args, s string) value.Slot {
	if len(s) == len(a.String(0)) && s == a.String(0) {
		return a.Slot(0)
	}
	return value.String(s)
}

// stringIndex returns a native for a search that returns a byte offset, or -1 if there is no match.
func stringIndex(search func(p *value.Pace, s, part string) int) vm.Native {
	return func(a *vm.Args) (value.Slot, error) {
		x := a.Str(0)
		i := search(a.Pace(), x.S, a.String(1))
		if i < 0 {
			return value.Nil, nil
		}
		if x.LenIn(a.Pace()) != len(x.S) {
			i = value.CountIn(a.Pace(), x.S[:i])
		}
		return value.Int(int64(i)), nil
	}
}

func stringCharAt(a *vm.Args) (value.Slot, error) {
	i := a.Int(1)
	if i < 0 {
		return value.Nil, value.Faultf("char_at: the index %d is negative", i)
	}
	c, ok := a.At(a.Str(0), i)
	if !ok {
		return value.Nil, nil
	}
	return c, nil
}

func stringSlice(a *vm.Args) (value.Slot, error) {
	x := a.Str(0)
	lo, hi, err := bounds(a, x.LenIn(a.Pace()))
	if err != nil {
		return value.Nil, err
	}
	s, _ := a.Cut(x, int64(lo), int64(hi))
	return s, nil
}

// bounds returns arguments 1 and 2 as the start and the end of a slice of a sequence of length n.
// If the end is nil or missing, it is n.
func bounds(a *vm.Args, n int) (lo, hi int, err error) {
	from, to := a.Int(1), int64(n)
	if a.Len() > 2 && !a.Slot(2).IsNil() {
		to = a.Int(2)
	}
	if from < 0 || to < from || to > int64(n) {
		return 0, 0, value.Faultf("%s", value.SliceMessage(from, to, n))
	}
	return int(from), int(to), nil
}

func stringSplit(a *vm.Args) (value.Slot, error) {
	s, sep := a.String(0), a.String(1)
	if sep == "" {
		return characters(a, s), nil
	}
	n := native.Occurrences(a, s, sep) + 1
	a.Room(n * int(value.SlotSize))
	return value.Split(s, sep, n, a.Pace()), nil
}

func stringSplitOnce(a *vm.Args) (value.Slot, error) {
	s, sep := a.String(0), a.String(1)
	i := value.IndexIn(a.Pace(), s, sep)
	if i < 0 {
		return value.Nil, nil
	}
	return value.Tuple(value.String(s[:i]), value.String(s[i+len(sep):])), nil
}

func stringLines(a *vm.Args) (value.Slot, error) {
	s := a.String(0)
	a.Room((native.Occurrences(a, s, "\n") + 1) * int(value.SlotSize))
	var lines []string
	for s != "" {
		i := value.IndexIn(a.Pace(), s, "\n")
		if i < 0 {
			lines = append(lines, strings.TrimSuffix(s, "\r"))
			break
		}
		lines = append(lines, strings.TrimSuffix(s[:i], "\r"))
		s = s[i+1:]
	}
	return value.StringArray(lines), nil
}

// characters returns an array with each code point of s as a String.
func characters(a *vm.Args, s string) value.Slot {
	a.Room(value.CountIn(a.Pace(), s) * int(value.SlotSize))
	out := value.NewArray()
	for i, w := 0, 0; i < len(s); i += w {
		a.Step(1)
		_, w = utf8.DecodeRuneInString(s[i:])
		out.Push(value.String(s[i : i+w]))
	}
	return out.Slot()
}

func stringBytes(a *vm.Args) (value.Slot, error) {
	s := a.String(0)
	a.Room(8 * len(s))
	out := make([]int64, len(s))
	a.Pace().Parts(len(s), func(from, to int) {
		for i := from; i < to; i++ {
			out[i] = int64(s[i])
		}
	})
	return value.IntArray(out), nil
}

func stringCodePoints(a *vm.Args) (value.Slot, error) {
	x := a.Str(0)
	a.Room(8 * x.LenIn(a.Pace()))
	out := make([]int64, 0, x.Len())
	for part := range a.Pace().Windows(x.S) {
		for _, r := range part {
			out = append(out, int64(r))
		}
	}
	return value.IntArray(out), nil
}

// stringIs returns a native that reports whether a text is not empty and all its characters are of
// one class.
func stringIs(class func(rune) bool) vm.Native {
	return func(a *vm.Args) (value.Slot, error) {
		s := a.String(0)
		for part := range a.Pace().Windows(s) {
			for _, r := range part {
				if !class(r) {
					return value.Bool(false), nil
				}
			}
		}
		return value.Bool(s != ""), nil
	}
}

func stringFields(a *vm.Args) (value.Slot, error) {
	x := a.Str(0)
	a.Room((x.LenIn(a.Pace())/2 + 1) * int(value.SlotSize))
	var fields []string
	start := -1
	at := 0
	for part := range a.Pace().Windows(x.S) {
		for i, r := range part {
			switch {
			case !unicode.IsSpace(r):
				if start < 0 {
					start = at + i
				}
			case start >= 0:
				fields = append(fields, x.S[start:at+i])
				start = -1
			}
		}
		at += len(part)
	}
	if start >= 0 {
		fields = append(fields, x.S[start:])
	}
	return value.StringArray(fields), nil
}

func stringFromCodePoints(a *vm.Args) (value.Slot, error) {
	points := a.Array(0)
	a.Step(points.Len)
	a.Room(utf8.UTFMax * points.Len)
	text := make([]byte, 0, points.Len)
	for i := range points.Len {
		n := points.At(i).AsInt()
		if n < 0 || n > unicode.MaxRune || !utf8.ValidRune(rune(n)) {
			return value.Nil, nil
		}
		text = utf8.AppendRune(text, rune(n))
	}
	return value.String(string(text)), nil
}

func stringReplace(n int) vm.Native {
	return func(a *vm.Args) (value.Slot, error) {
		s, from, to := a.String(0), a.String(1), a.String(2)
		if from != "" && len(s) <= shortText && len(to) <= shortText {
			return replaceShort(a.Slot(0), from, to, n), nil
		}
		times := n
		if n < 0 {
			times = native.Occurrences(a, s, from)
		} else if value.IndexIn(a.Pace(), s, from) < 0 {
			times = 0
		}
		if grow := len(to) - len(from); grow > 0 {
			if times > 0 && len(s) > native.MaxText-times*grow {
				return value.Nil, value.Faultf("replace: the result would be longer than 1 GiB")
			}
			a.Room(len(s) + times*grow)
		}
		return changedString(a, native.Replace(a, s, from, to, times)), nil
	}
}

// shortText is the maximum length in bytes of a text that is changed on the stack, so that only the
// resulting String is allocated. Together with stringCase this saves 4 % of the time of the
// benchmark strings.
const shortText = 64

// replaceShort replaces the first n occurrences of from in a short String, or all if n is negative.
func replaceShort(x value.Slot, from, to string, n int) value.Slot {
	s := x.AsString()
	at := strings.Index(s, from)
	if at < 0 || n == 0 || from == to {
		return x
	}
	var room [shortText]byte
	out := room[:0]
	for ; at >= 0 && n != 0; n-- {
		out = append(append(out, s[:at]...), to...)
		s = s[at+len(from):]
		at = strings.Index(s, from)
	}
	return value.StringOf(append(out, s...))
}

// stringCase returns a native that changes the case of letters. In a short ASCII text it changes
// the 26 letters from first on. It passes any other text to f.
func stringCase(first byte, f func(string) string) vm.Native {
	return func(a *vm.Args) (value.Slot, error) {
		s := a.String(0)
		if len(s) > shortText {
			return changedString(a, native.Map(a, s, f)), nil
		}
		var room [shortText]byte
		same := true
		for i := range len(s) {
			c := s[i]
			if c >= utf8.RuneSelf {
				return changedString(a, f(s)), nil
			}
			if c-first < 26 {
				c ^= 'a' - 'A'
				same = false
			}
			room[i] = c
		}
		if same {
			return a.Slot(0), nil
		}
		return value.StringOf(room[:len(s)]), nil
	}
}

func stringCapitalize(a *vm.Args) (value.Slot, error) {
	a.Pace().Bytes(len(a.String(0)) >> 2)
	return changedString(a, capitalize(a.String(0))), nil
}

func capitalize(s string) string {
	r, w := utf8.DecodeRuneInString(s)
	if w == 0 || unicode.ToUpper(r) == r {
		return s
	}
	return string(unicode.ToUpper(r)) + s[w:]
}

func stringReverse(a *vm.Args) (value.Slot, error) {
	s := a.String(0)
	out := make([]byte, len(s))
	at := len(s)
	for part := range a.Pace().Windows(s) {
		for i, w := 0, 0; i < len(part); i += w {
			_, w = utf8.DecodeRuneInString(part[i:])
			at -= w
			copy(out[at:], part[i:i+w])
		}
	}
	return changedString(a, string(out)), nil
}

func stringRepeat(a *vm.Args) (value.Slot, error) {
	s, n := a.String(0), a.Int(1)
	switch {
	case n < 0:
		return value.Nil, value.Faultf("repeat: the count %d is negative", n)
	case s != "" && n > int64(native.MaxText/len(s)):
		return value.Nil, value.Faultf("repeat: the result would be longer than 1 GiB")
	}
	if s == "" {
		n = 0
	}
	a.Room(len(s) * int(n))
	return value.String(native.Repeat(a, s, int(n))), nil
}

func stringPad(left bool) vm.Native {
	return func(a *vm.Args) (value.Slot, error) {
		x, w, fill := a.Str(0), a.Int(1), a.Str(2)
		if fill.S == "" {
			return value.Nil, value.Faultf("pad: the filling is empty")
		}
		missing := w - int64(x.LenIn(a.Pace()))
		if missing <= 0 {
			return a.Slot(0), nil
		}
		if missing > int64(native.MaxText/len(fill.S)) {
			return value.Nil, value.Faultf("pad: the result would be longer than 1 GiB")
		}
		n := int64(fill.Len())
		a.Room(len(fill.S) * int(missing/n))
		padding := native.Repeat(a, fill.S, int(missing/n))
		part, _ := fill.Slice(0, missing%n)
		padding += part.AsString()
		if left {
			return value.String(padding + x.S), nil
		}
		return value.String(x.S + padding), nil
	}
}

func stringCount(a *vm.Args) (value.Slot, error) {
	return value.Int(int64(native.Occurrences(a, a.String(0), a.String(1)))), nil
}

func stringParseInt(a *vm.Args) (value.Slot, error) {
	s, radix := a.String(0), a.Int(1)
	if radix < 2 || radix > 36 {
		return value.Nil, value.Faultf("parse_int: the radix %d must be 2 to 36", radix)
	}
	n, err := strconv.ParseInt(s, int(radix), 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return value.Nil, native.ParseError(s, "does not fit an Int")
	case err != nil && radix != 10:
		return value.Nil, native.ParseError(s, "is not a whole number in base "+strconv.FormatInt(radix, 10))
	case err != nil:
		return value.Nil, native.ParseError(s, "is not a whole number")
	}
	return value.Int(n), nil
}

func stringParseFloat(a *vm.Args) (value.Slot, error) {
	s := a.String(0)
	switch s {
	case "inf", "-inf", "NaN": // the output of to_string
	default:
		a.Pace().Bytes(len(s))
		if strings.Trim(s, "0123456789.eE+-") != "" {
			return value.Nil, native.ParseError(s, "is not a number")
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if errors.Is(err, strconv.ErrRange) {
		return value.Nil, native.ParseError(s, "does not fit a Float")
	}
	if err != nil {
		return value.Nil, native.ParseError(s, "is not a number")
	}
	return value.Float(f), nil
}

func stringMatches(a *vm.Args) (value.Slot, error) {
	re, err := expression(a.String(1))
	if err != nil {
		return value.Nil, err
	}
	return value.Bool(re.matches(a.String(0), a.Pace())), nil
}

func stringCompare(a *vm.Args) (value.Slot, error) {
	a.Pace().Bytes(min(len(a.String(0)), len(a.String(1))) >> 2)
	return value.Int(int64(strings.Compare(a.String(0), a.String(1)))), nil
}
