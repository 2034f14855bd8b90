package durable

import (
	"errors"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/secret"
)

func programError(err error) *effect.Error {
	e, _ := errors.AsType[*effect.Error](err)
	return e
}

func isProgram(err error) bool { return programError(err) != nil }

// marks returns the names of the secrets whose placeholders a record or a line contains.
func marks(text []byte) (names []string) {
	secret.RestoreJSON(text, func(name string) (string, bool) {
		names = append(names, name)
		return "", false
	})
	return names
}
