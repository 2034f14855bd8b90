package build

import "fmt"

// reference is a place of a module that names another file: from start up to end
// stands its name, without the quotes.
type reference struct {
	name       string
	start, end int
	lazy       bool // import(…), or new URL(…, import.meta.url)
}

// significant are the tokens of a module without space and comments.
type significant struct {
	src    string
	tokens []token
}

func (s significant) at(i int) string {
	if i < 0 || i >= len(s.tokens) {
		return ""
	}
	return s.src[s.tokens[i].start:s.tokens[i].end]
}

func (s significant) isText(i int) bool { return i < len(s.tokens) && s.tokens[i].kind == text }

func (s significant) reference(i int, lazy bool) reference {
	t := s.tokens[i]
	return reference{s.src[t.start+1 : t.end-1], t.start + 1, t.end - 1, lazy}
}

// references finds the files that a module imports, or whose address it takes. A
// name that is computed is an error: nobody could tell what the page needs.
func references(src string, tokens []token) ([]reference, error) {
	s := significant{src: src}
	for _, t := range tokens {
		if t.kind != space && t.kind != comment {
			s.tokens = append(s.tokens, t)
		}
	}
	var out []reference
	for i := range s.tokens {
		if s.at(i-1) == "." || s.tokens[i].kind != word {
			continue
		}
		switch s.at(i) {
		case "import":
			r, err := s.imports(i)
			if err != nil {
				return nil, err
			}
			out = append(out, r...)
		case "export":
			out = append(out, s.exports(i)...)
		case "URL":
			if s.at(i+1) == "(" && s.isText(i+2) && s.at(i+3) == "," && s.at(i+4) == "import" {
				out = append(out, s.reference(i+2, true))
			}
		}
	}
	return out, nil
}

func (s significant) imports(i int) ([]reference, error) {
	switch {
	case s.at(i+1) == "." || s.at(i+1) == ":": // import.meta; a property
		return nil, nil
	case s.at(i+1) == "(":
		if !s.isText(i+2) || s.at(i+3) != ")" {
			return nil, fmt.Errorf("an import's name is computed: %s", clip(s.src[s.tokens[i].start:]))
		}
		return []reference{s.reference(i+2, true)}, nil
	case s.isText(i + 1):
		return []reference{s.reference(i+1, false)}, nil
	}
	for j := i + 1; j < len(s.tokens) && s.at(j) != ";"; j++ {
		if s.at(j) == "from" && s.isText(j+1) {
			return []reference{s.reference(j+1, false)}, nil
		}
	}
	return nil, fmt.Errorf("an import names no module: %s", clip(s.src[s.tokens[i].start:]))
}

// exports finds `export … from "x"`; other exports name nothing.
func (s significant) exports(i int) []reference {
	j := i + 1
	switch s.at(j) {
	case "{":
		for j < len(s.tokens) && s.at(j) != "}" {
			j++
		}
		j++
	case "*":
		for j < len(s.tokens) && s.at(j) != "from" {
			j++
		}
	default:
		return nil
	}
	if s.at(j) == "from" && s.isText(j+1) {
		return []reference{s.reference(j+1, false)}
	}
	return nil
}

func clip(s string) string { return s[:min(len(s), 60)] }
