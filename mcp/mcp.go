// Package mcp lets the programs of an application call MCP servers. Import it for its effect:
//
//	import _ "github.com/concerto-lang/concerto/mcp"
//
// Without it, a call of a function of an MCP server ends the run with an error that contains this
// import, and the application does not link the implementation of the protocol. The package exports
// nothing; the compatibility promise covers its import path.
package mcp

import _ "github.com/concerto-lang/concerto/runtime/mcp" // registers itself
