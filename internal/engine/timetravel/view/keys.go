package view

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// sequences maps the escape sequences of keys to names.
var sequences = map[string]string{
	"[A": "up", "[B": "down", "[C": "right", "[D": "left", "OA": "up", "OB": "down", "OC": "right", "OD": "left",
	"[H": "home", "[F": "end", "OH": "home", "OF": "end", "[1~": "home", "[4~": "end", "[7~": "home", "[8~": "end",
	"[5~": "page-up", "[6~": "page-down", "[Z": "shift-tab",
}

// controls maps control bytes to names of keys.
var controls = map[byte]string{3: "ctrl-c", 8: "backspace", 127: "backspace", 9: "tab", 10: "enter", 13: "enter", 21: "ctrl-u"}

// parseKey parses the first key of the input. It returns the key's name, which is "" for an unknown
// key, and its length in bytes, which is 0 if the input is incomplete.
func parseKey(b []byte) (k string, n int) {
	if name, ok := controls[b[0]]; ok {
		return name, 1
	}
	if b[0] == 27 {
		return sequence(b)
	}
	if !utf8.FullRune(b) {
		return "", 0
	}
	r, n := utf8.DecodeRune(b)
	if r == utf8.RuneError || !unicode.IsPrint(r) {
		return "", n
	}
	return string(r), n
}

// sequence parses a key that begins with Escape. An Escape byte at the end of the input is the
// Escape key.
func sequence(b []byte) (k string, n int) {
	if len(b) == 1 || b[1] != '[' && b[1] != 'O' {
		return "escape", 1
	}
	for n = 2; n < len(b); n++ {
		if c := b[n]; c >= 0x40 && c <= 0x7e {
			return sequences[strings.TrimSpace(string(b[1:n+1]))], n + 1
		}
	}
	return "", 0
}
