// Package editors holds what editors are told of Concerto (its API promises nothing): an extension for VS Code, and a directory each for Neovim, Helix, Zed and
// Emacs. What they know of the language's words is written from the lexer's table.
package editors

//go:generate go run ./gen .
