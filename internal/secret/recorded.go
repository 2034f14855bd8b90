package secret

import "strings"

// Redacted stands in what is recorded in the place of a secret that is known by its form alone.
const Redacted = "«redacted»"

const recordedMark = "«secret:"

// RecordedMark is what stands in what is recorded in the place of the secret in the variable
// name.
func RecordedMark(name string) string { return recordedMark + name + "»" }

// Escape doubles the first character of what would be read as a mark.
func Escape(text string) string { return strings.ReplaceAll(text, recordedMark, "«"+recordedMark) }

// Restore puts secrets back: value gives that of a variable. A mark whose secret is not there
// stays.
func Restore(text string, value func(name string) (string, bool)) string {
	at := strings.Index(text, recordedMark)
	if at < 0 {
		return text
	}
	var b strings.Builder
	for ; at >= 0; at = strings.Index(text, recordedMark) {
		rest := text[at+len(recordedMark):]
		before := text[:at]
		name, behind, whole := strings.Cut(rest, "»")
		switch v, known := value(name); {
		case strings.HasSuffix(before, "«"): // it is no mark
			b.WriteString(strings.TrimSuffix(before, "«") + recordedMark)
			text = rest
		case whole && known:
			b.WriteString(before + v)
			text = behind
		default:
			b.WriteString(before + recordedMark)
			text = rest
		}
	}
	return b.String() + text
}

func (s *Set) withoutTokens(text string) string {
	all := Tokens(text)
	if all == nil {
		return text
	}
	var b strings.Builder
	from := 0
	for _, at := range all {
		b.WriteString(text[from:at[0]] + s.token)
		from = at[1]
	}
	return b.String() + text[from:]
}
