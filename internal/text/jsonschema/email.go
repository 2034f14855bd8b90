//go:build !js

package jsonschema

import "net/mail"

// isEmail reports whether a text is an address of electronic mail.
func isEmail(s string) bool {
	a, err := mail.ParseAddress(s)
	return err == nil && a.Address == s
}
