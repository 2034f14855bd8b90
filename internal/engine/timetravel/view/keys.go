package view

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// sequences are what keys send that are no characters, behind Escape.
var sequences = map[string]string{
	"[A": "up", "[B": "down", "[C": "right", "[D": "left", "OA": "up", "OB": "down", "OC": "right", "OD": "left",
	"[H": "home", "[F": "end", "OH": "home", "OF": "end", "[1~": "home", "[4~": "end", "[7~": "home", "[8~": "end",
	"[5~": "page-up", "[6~": "page-down", "[Z": "shift-tab",
}

// controls are the keys of one byte that are no characters.
var controls = map[byte]string{3: "ctrl-c", 8: "backspace", 127: "backspace", 9: "tab", 10: "enter", 13: "enter", 21: "ctrl-u"}

// key is the first of what was typed, and how many bytes it is; 0 where its rest has not come. One
// that is not known is "".
func key(b []byte) (k string, n int) {
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

// sequence is a key that begins with Escape. Escape itself comes alone.
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
