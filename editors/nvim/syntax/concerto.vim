" Written by `make gen` from the lexer's table.
if exists("b:current_syntax")
  finish
endif

syntax keyword concertoDeclaration let const fn agent host tool mcp schema struct enum trait impl type use mod pipeline stage hashmap ledger memory
syntax keyword concertoControl if else match for in while loop break continue return try catch throw await emit listen as
syntax keyword concertoModifier mut pub async
syntax keyword concertoConstant true false nil
syntax keyword concertoSelf self Self
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
