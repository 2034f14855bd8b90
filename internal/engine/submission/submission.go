// Package submission contains the form in which an engine stores what a worker needs to execute a
// run, besides the program.
package submission

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// Start is what a worker needs to execute a run. Two submissions are the same if their programs and
// the encodings of their starts are.
type Start struct {
	Args   []string        `json:"args"`
	Inputs json.RawMessage `json:"inputs"` // object
	// Flags contains the flags of the command line that change what the program may do and which
	// answers it receives, by name.
	Flags map[string][]string `json:"flags"`
	// Continues describes the earlier run of which the run is the successor; nil if there is none.
	Continues *journal.Continues `json:"continues,omitempty"`
}

// Encode returns the start as JSON.
func (s *Start) Encode() json.RawMessage {
	c := *s
	if c.Args == nil {
		c.Args = []string{}
	}
	if c.Inputs == nil {
		c.Inputs = json.RawMessage("{}")
	}
	if c.Flags == nil {
		c.Flags = map[string][]string{}
	}
	text, err := jsonwrite.Encode(c)
	if err != nil {
		panic("submission: " + err.Error()) // Inputs was checked
	}
	return text
}

// Decode returns the start that Encode has encoded.
func Decode(text json.RawMessage) (s Start, err error) {
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("could not read what was submitted: %w", err)
	}
	return s, nil
}

// IsMock reports whether all models are replaced by scripted replies.
func (s *Start) IsMock() bool { return slices.Equal(s.Flags["mock"], []string{"true"}) }

// Mask replaces the values of secrets in the arguments and the inputs by their marks. names are the
// variables that contain secrets.
func (s *Start) Mask(names []string, getenv func(name string) string) {
	set := &secret.Set{}
	for _, name := range names {
		set.Add(name, getenv(name))
	}
	s.Args = slices.Clone(s.Args)
	for i, arg := range s.Args {
		s.Args[i] = set.Text(arg)
	}
	if s.Inputs != nil {
		s.Inputs = set.JSON(s.Inputs)
	}
}

var marks = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\*\*\*([A-Za-z0-9_]+)\*\*\*`) })

// Unmask replaces the marks of secrets in a text by their values. A mark without a value stays.
func Unmask(text string, value func(name string) (string, bool)) string {
	if !strings.Contains(text, "***") {
		return text
	}
	return marks().ReplaceAllStringFunc(text, func(mark string) string {
		if v, ok := value(strings.Trim(mark, "*")); ok {
			return v
		}
		return mark
	})
}

// UnmaskJSON is Unmask for the strings of a JSON text.
func UnmaskJSON(text json.RawMessage, value func(name string) (string, bool)) json.RawMessage {
	return json.RawMessage(Unmask(string(text), func(name string) (string, bool) {
		v, ok := value(name)
		quoted, err := jsonwrite.Encode(v)
		if err != nil {
			return "", false
		}
		return string(quoted[1 : len(quoted)-1]), ok
	}))
}
