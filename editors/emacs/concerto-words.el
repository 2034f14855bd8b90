;;; concerto-words.el --- Concerto's reserved words -*- lexical-binding: t; -*-

;; Written by `make gen` from the lexer's table.

;;; Code:

(defconst concerto-declaration-words
  '("let" "const" "fn" "agent" "host" "tool" "mcp" "schema" "struct" "enum" "trait" "impl" "type" "use" "mod" "pipeline" "stage" "hashmap" "ledger" "memory")
  "Words that begin a declaration.")

(defconst concerto-control-words
  '("if" "else" "match" "for" "in" "while" "loop" "break" "continue" "return" "try" "catch" "throw" "await" "emit" "listen" "as" "mut" "pub" "async")
  "Words of control flow, and modifiers.")

(defconst concerto-constant-words
  '("true" "false" "nil" "self" "Self")
  "Words that are values.")

(provide 'concerto-words)
;;; concerto-words.el ends here
