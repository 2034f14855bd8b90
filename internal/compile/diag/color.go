package diag

// role is the role of a piece of rendered text.
type role uint8

const (
	plain    role = iota
	bad           // errors and their carets
	doubtful      // warnings and their carets
	strong        // the message
	quiet         // gutter, arrows
	helpful       // labels and hints
)

// sgr are the terminal's codes (ECMA-48, SGR) of each role: only standard colours, so that the
// user's theme applies.
var sgr = [...]string{bad: "1;31", doubtful: "1;33", strong: "1", quiet: "34", helpful: "36"}

// palette colours text, or returns it unchanged if false.
type palette bool

func (p palette) paint(r role, text string) string {
	if !p || r == plain || text == "" {
		return text
	}
	return "\x1b[" + sgr[r] + "m" + text + "\x1b[0m"
}

// severityRole returns the role of a severity's word and carets.
func severityRole(s Severity) role {
	if s == Warning {
		return doubtful
	}
	return bad
}
