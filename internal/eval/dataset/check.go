package dataset

import (
	"errors"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/engine/driver"
)

// Checker returns a function that checks datasets for the compiler. It checks the first maxRows
// rows; 0 means all.
func Checker(maxRows int) driver.CheckData {
	return func(file string, text []byte, row *value.Type) (problems []driver.DataProblem, more string) {
		_, err := Read(file, text, row, maxRows)
		e, ok := errors.AsType[*Error](err)
		if !ok {
			return nil, ""
		}
		for _, x := range e.Rows {
			problems = append(problems, driver.DataProblem{Line: x.Line, Message: x.Message})
		}
		if e.More > 0 {
			more = e.Rest()
		}
		return problems, more
	}
}
