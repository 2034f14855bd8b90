//go:build !js

// Package httpport has the part of net/http that package llm uses. In a page, where net/http would
// be a third of the program, the same names are implemented with the browser's fetch.
package httpport

import (
	"net/http"
	"time"
)

// The types of net/http.
type (
	Header    = http.Header
	Request   = http.Request
	Response  = http.Response
	Transport = http.Transport
)

// StatusText returns the name of a status, or "".
func StatusText(status int) string { return http.StatusText(status) }

// ParseTime parses a date of a header.
func ParseTime(text string) (time.Time, error) { return http.ParseTime(text) }
