package main

import (
	"fmt"
	"strings"
)

// lisp returns the word list of the Emacs mode.
func lisp(w words) ([]byte, error) {
	var out strings.Builder
	out.WriteString(";;; concerto-words.el --- Concerto's reserved words -*- lexical-binding: t; -*-\n\n;; Written by `make gen` from the lexer's table.\n\n;;; Code:\n\n")
	for _, l := range []struct {
		name, doc string
		words     []string
	}{
		{"concerto-declaration-words", "Words that begin a declaration.", w.declaration},
		{"concerto-control-words", "Words of control flow, and modifiers.", append(w.control, w.modifier...)},
		{"concerto-constant-words", "Words that are values.", append(w.constant, w.self...)},
	} {
		fmt.Fprintf(&out, "(defconst %s\n  '(\"%s\")\n  \"%s\")\n\n", l.name, strings.Join(l.words, "\" \""), l.doc)
	}
	out.WriteString("(provide 'concerto-words)\n;;; concerto-words.el ends here\n")
	return []byte(out.String()), nil
}

// vim returns the syntax file of Neovim and Vim.
func vim(w words) ([]byte, error) {
	return []byte(`" Written by ` + "`make gen`" + ` from the lexer's table.
if exists("b:current_syntax")
  finish
endif

syntax keyword concertoDeclaration ` + strings.Join(w.declaration, " ") + `
syntax keyword concertoControl ` + strings.Join(w.control, " ") + `
syntax keyword concertoModifier ` + strings.Join(w.modifier, " ") + `
syntax keyword concertoConstant ` + strings.Join(w.constant, " ") + `
syntax keyword concertoSelf ` + strings.Join(w.self, " ") + `
syntax match concertoMember "\.\@<!\.\zs\h\w*"
syntax match concertoField "\<\h\w*\ze\s*:\(:\)\@!"
syntax match concertoDecorator "@\h\w*"
syntax match concertoNumber "\<\(0[xX][0-9A-Fa-f_]\+\|0[oO][0-7_]\+\|0[bB][01_]\+\|\d[0-9_]*\(\.\d[0-9_]*\)\?\([eE][+-]\?\d[0-9_]*\)\?\)\>"
syntax match concertoType "\<\u\w*\>"
syntax match concertoLabel "'\h\w*\ze\s*:\s*\(for\|while\|loop\)\>"
syntax match concertoEscape "\\\(u{[0-9A-Fa-f_]*}\|.\)" contained
syntax region concertoInterpolation matchgroup=concertoEscape start="\${" end="}" contained contains=TOP
syntax region concertoBraces start="{" end="}" transparent contains=TOP
syntax region concertoString start=+"+ end=+"+ contains=concertoEscape,concertoInterpolation
syntax region concertoString start=+"""+ end=+"""+ contains=concertoEscape,concertoInterpolation
syntax region concertoString start=+\<r\z(#*\)"+ end=+"\z1+
syntax region concertoString start=+'+ end=+'+ contains=concertoEscape
syntax match concertoComment "//.*$" contains=@Spell
syntax match concertoDoc "///\(/\)\@!.*$" contains=@Spell
syntax region concertoComment start="/\*" end="\*/" contains=concertoComment,@Spell

highlight default link concertoDeclaration Structure
highlight default link concertoControl Statement
highlight default link concertoModifier StorageClass
highlight default link concertoConstant Constant
highlight default link concertoSelf Identifier
highlight default link concertoMember Identifier
highlight default link concertoField Identifier
highlight default link concertoDecorator PreProc
highlight default link concertoNumber Number
highlight default link concertoType Type
highlight default link concertoLabel Label
highlight default link concertoEscape SpecialChar
highlight default link concertoString String
highlight default link concertoComment Comment
highlight default link concertoDoc SpecialComment

let b:current_syntax = "concerto"
`), nil
}
