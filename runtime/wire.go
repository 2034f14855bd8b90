package runtime

import (
	"sync"

	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/record/hosttrace"
)

// wire returns the function that receives the lines of hosts. It removes secrets, also those that
// are split over the pieces of a stream, and calls Wire. In
// addition to the secrets of the run, it removes the values of all variables whose names suggest a
// secret, because hosts inherit variables and the lines are stored. It returns nil if Wire is nil.
func (c *Config) wire(lookup func(string) (string, bool)) func(hosttrace.Line) {
	if c.Listeners.Wire == nil {
		return nil
	}
	secrets := c.secrets(lookup)
	secrets.AddFromEnviron(c.Environ)
	type stream struct {
		host string
		proc int
		dir  hosttrace.Dir
	}
	var mu sync.Mutex
	texts := map[stream]*secret.Lines{}
	return func(l hosttrace.Line) {
		mu.Lock()
		defer mu.Unlock()
		of := stream{l.Host, l.Proc, l.Dir}
		if texts[of] == nil {
			texts[of] = secrets.Lines()
		}
		l.Text, l.Session = string(texts[of].JSON([]byte(l.Text))), secrets.Text(l.Session)
		c.Listeners.Wire(l)
	}
}
