// The keywords and operators of the language. Generated from the lexer's table by `make gen`.
export const comment = "//";
export const keywords = ["let", "mut", "const", "fn", "agent", "host", "tool", "mcp", "schema", "struct", "enum", "trait", "impl", "type", "pub", "use", "mod", "if", "else", "match", "for", "in", "while", "loop", "break", "continue", "return", "try", "catch", "throw", "async", "await", "emit", "listen", "pipeline", "stage", "hashmap", "ledger", "memory", "as", "true", "false", "nil", "self", "Self"];
export const operators = ["..=", "::", "..", "->", "=>", "+=", "-=", "*=", "/=", "%=", "??", "<=", "==", "!=", "&&", "||", "|>", "(", ")", "[", "]", "{", "}", ",", ";", ":", ".", "@", "?", "|", "=", "+", "-", "*", "/", "%", "<", ">", "!"];
