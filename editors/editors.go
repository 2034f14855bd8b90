// Package editors contains Concerto's support for editors: an extension for VS Code, and a
// directory each for Neovim, Helix, Zed and Emacs. Their word lists are generated from the lexer's
// table.
package editors

//go:generate go run ./gen .
