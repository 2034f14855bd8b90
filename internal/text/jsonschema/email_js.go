package jsonschema

import "strings"

// isEmail reports whether a text is an address of electronic mail. In a page, where net/mail would
// link half of package net, it does not know quoted names and addresses of machines in brackets.
func isEmail(s string) bool {
	at := strings.LastIndexByte(s, '@')
	return at > 0 && isDotAtom(s[:at]) && isDotAtom(s[at+1:])
}

// isDotAtom reports whether a text consists of atoms with dots between them.
func isDotAtom(s string) bool {
	for _, atom := range strings.Split(s, ".") {
		if atom == "" || strings.ContainsFunc(atom, func(c rune) bool { return c <= ' ' || c == 0x7f || strings.ContainsRune("()<>[]:;@\\,\"", c) }) {
			return false
		}
	}
	return true
}
