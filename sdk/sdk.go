// Package sdk holds the SDKs with which hosts and applications are written in other
// languages, and as text what of them `concerto init` lays into a project; its API promises nothing.
package sdk

import _ "embed" // the SDKs are files

// Python is concerto.py, for applications in Python.
//
//go:embed python/concerto.py
var Python []byte
