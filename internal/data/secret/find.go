package secret

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// finder finds secrets in texts, in all their forms. It is immutable.
type finder struct {
	forms []form
	// at contains, by first byte, the indexes of the forms that may begin with that byte.
	at [256][]int
	// pairs has a bit for each pair of bytes with which a form may begin. It rules out most
	// positions of a text quickly.
	pairs [1 << 16 / 64]uint64
}

// form is an encoding of a secret: the secret itself, or its part of a base64 text. Each unit may
// also be escaped.
type form struct {
	mark  string
	units []unit
	tail  tail
	// backslash means that one of the units is a backslash.
	backslash bool
}

// unit is a character of a form, or a byte if the secret is not UTF-8.
type unit struct {
	raw string
	alt byte // the same character in the other base64 alphabet; 0 if there is none
	r   rune // character; -1 for a byte that is not UTF-8
}

// tail describes the end of a base64 text. After the characters that depend only on the secret,
// there may be one whose upper bits are the last bits of the secret, and padding.
type tail struct {
	bits uint // number of these bits; 0 if there is no tail
	are  byte // value of these bits
}

const (
	standard = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	urlSafe  = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
)

func newFinder(all []knownSecret) *finder {
	f := &finder{}
	for _, k := range all {
		mark := Mark(k.name)
		f.add(form{mark: mark, units: units(k.value), backslash: strings.Contains(k.value, `\`)})
		for before := range 3 {
			f.add(base64Form(mark, k.value, before))
		}
	}
	return f
}

// units splits a text into characters.
func units(text string) []unit {
	var out []unit
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && n == 1 {
			r = -1
		}
		out = append(out, unit{raw: text[:n], r: r})
		text = text[n:]
	}
	return out
}

// base64Form returns the form of a secret inside the base64 of a longer text. before (0 to 2) is
// the number of bytes before the secret in its first group of three. Characters that depend on the
// bytes around the secret are omitted.
func base64Form(mark, value string, before int) form {
	text := base64.StdEncoding.EncodeToString([]byte("\x00\x00"[:before] + value))
	bits := uint(8 * (before + len(value)))
	first := (8*before + 5) / 6
	f := form{mark: mark, units: units(text[first : bits/6])}
	for i := range f.units {
		u := &f.units[i]
		if at := strings.IndexByte(standard, u.raw[0]); at >= 62 {
			u.alt = urlSafe[at]
		}
	}
	if left := bits % 6; left > 0 {
		f.tail = tail{bits: left, are: value[len(value)-1] & (1<<left - 1)}
	}
	return f
}

// add adds a form.
func (f *finder) add(x form) {
	i := len(f.forms)
	f.forms = append(f.forms, x)
	for _, b := range x.units[0].starts() {
		f.at[b] = append(f.at[b], i)
		switch first := x.units[0].raw; {
		case b == '\\' || b == '%': // escaped forms begin with these bytes
			for next := range 256 {
				f.allowStart(b, byte(next))
			}
		case len(first) > 1:
			f.allowStart(b, first[1])
		default:
			for _, next := range x.units[1].starts() {
				f.allowStart(b, next)
			}
		}
	}
}

// allowStart sets the bit of a pair of bytes with which a form may begin.
func (f *finder) allowStart(a, b byte) {
	pair := uint(a)<<8 | uint(b)
	f.pairs[pair/64] |= 1 << (pair % 64)
}

// starts returns the bytes with which an encoding of the unit may begin.
func (u *unit) starts() []byte {
	out := []byte{u.raw[0]}
	for _, b := range []byte{'\\', '%', u.alt} {
		if b != 0 && b != u.raw[0] {
			out = append(out, b)
		}
	}
	if u.raw == " " {
		out = append(out, '+')
	}
	return out
}

// clean replaces the secrets in text by placeholders. If final is not set, rest is the end of the
// text if that may be the start of a secret.
func (f *finder) clean(text string, final bool) (out, rest string) {
	var b strings.Builder
	from := 0 // offset of the text that was not copied to b
	for i := 0; i < len(text); {
		if !f.mayBegin(text, i) {
			i++
			continue
		}
		end, mark, more := f.longestMatch(text, i)
		switch {
		case more && !final:
			if from == 0 {
				return text[:i], text[i:]
			}
			b.WriteString(text[from:i])
			return b.String(), text[i:]
		case end < 0:
			i++
		default:
			b.WriteString(text[from:i])
			b.WriteString(mark)
			i, from = end, end
		}
	}
	if from == 0 {
		return text, ""
	}
	b.WriteString(text[from:])
	return b.String(), ""
}

// mayBegin reports whether a form may begin at offset i.
func (f *finder) mayBegin(text string, i int) bool {
	if i+1 == len(text) {
		return f.at[text[i]] != nil
	}
	pair := uint(text[i])<<8 | uint(text[i+1])
	return f.pairs[pair/64]&(1<<(pair%64)) != 0
}

// longestMatch returns the end of the longest form that begins at offset i, or -1. more means that
// the result depends on the text that follows.
func (f *finder) longestMatch(text string, i int) (end int, mark string, more bool) {
	end = -1
	for _, at := range f.at[text[i]] {
		x := &f.forms[at]
		e, unsure := x.match(text, i)
		if more = more || unsure; e > end {
			end, mark = e, x.mark
		}
	}
	return end, mark, more
}
