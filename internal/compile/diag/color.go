package diag

// role is the purpose of a piece of rendered text. It determines the color.
type role uint8

const (
	plain    role = iota
	bad           // severity and carets of errors
	doubtful      // severity and carets of warnings
	strong        // messages
	quiet         // line numbers, separators and arrows
	helpful       // labels and hints
)

// sgr contains the SGR parameters (ECMA-48) of each role. They are only standard colors, which the
// user's terminal theme defines.
var sgr = [...]string{bad: "1;31", doubtful: "1;33", strong: "1", quiet: "34", helpful: "36"}

// palette reports whether text is colored.
type palette bool

func (p palette) paint(r role, text string) string {
	if !p || r == plain || text == "" {
		return text
	}
	return "\x1b[" + sgr[r] + "m" + text + "\x1b[0m"
}

// severityRole returns the role of the name and the carets of a severity.
func severityRole(s Severity) role {
	if s == Warning {
		return doubtful
	}
	return bad
}
