// Package sdk contains the SDKs for hosts and applications, and embeds the files that `concerto
// init` copies into a project.
package sdk

import _ "embed" // the SDKs are files

// Python is the SDK for applications in Python, which can be copied as concerto.py.
//
//go:embed python/concerto/__init__.py
var Python []byte
