package tape

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// Normalizer converts requests to a form in which those that differ only in white space, in the
// working directory and in the ids of runs are equal.
type Normalizer struct {
	dirs []string // working directories, the longest first
}

var runID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\br_[0-9a-z]{16}\b`) })

// NewNormalizer returns the Normalizer for these working directories; "" is none.
func NewNormalizer(dirs ...string) *Normalizer {
	dirs = slices.DeleteFunc(dirs, func(dir string) bool { return len(dir) < 2 })
	slices.SortFunc(dirs, func(a, b string) int { return len(b) - len(a) }) // one may contain another
	return &Normalizer{dirs}
}

// JSON returns the normalized form of a JSON text.
func (n *Normalizer) JSON(text []byte) []byte {
	var v any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return text
	}
	out, err := jsonwrite.Encode(n.value(v))
	if err != nil {
		return text
	}
	return out
}

func (n *Normalizer) value(v any) any {
	switch v := v.(type) {
	case string:
		return n.Text(v)
	case []any:
		for i := range v {
			v[i] = n.value(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = n.value(v[name])
		}
	}
	return v
}

// Text returns the normalized form of a text.
func (n *Normalizer) Text(text string) string {
	for _, dir := range n.dirs {
		text = strings.ReplaceAll(text, dir, "«directory»")
	}
	return strings.Join(strings.Fields(runID().ReplaceAllString(text, "«run»")), " ")
}
