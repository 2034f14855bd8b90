package program

import (
	"encoding/json"
	"strings"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/process/userfile"
)

const InputUsage = "set the values of std::app::inputs: a `JSON` object, or @FILE"

// ReadInputs returns the JSON object that --input specifies.
func ReadInputs(a *console.Console, value string) (json.RawMessage, error) {
	return ReadObject(a, "--input", value)
}

// ReadObject returns the JSON object that value, the value of a flag, specifies: the object itself,
// or @ and the name of a file that contains the object. It returns nil if value is "".
func ReadObject(a *console.Console, flag, value string) (json.RawMessage, error) {
	if value == "" {
		return nil, nil
	}
	name, inFile := strings.CutPrefix(value, "@")
	text := []byte(value)
	where := flag
	if inFile {
		where = name
		var err error
		if text, err = userfile.Read(a.Abs(name), userfile.MaxText); err != nil {
			return nil, console.Usage("the file must contain a JSON object", "%s: read %s: %v", flag, name, console.Cause(err))
		}
	}
	if err := engine.CheckInputs(text); err != nil {
		return nil, console.Usage("write an object, such as "+flag+" '{\"id\": 7}', or "+flag+" @<file>", "%s: %v", where, err)
	}
	return text, nil
}
