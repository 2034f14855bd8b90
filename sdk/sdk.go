// Package sdk contains the SDKs for hosts and applications, and embeds the files that `concerto
// init` copies into a project. The compatibility promise does not cover its API.
package sdk

import _ "embed" // the SDKs are files

// Python is concerto.py, for applications in Python.
//
//go:embed python/concerto.py
var Python []byte
