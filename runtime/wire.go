package runtime

import "github.com/concerto-lang/concerto/internal/record/hosttrace"

// wire is what takes the lines of hosts: Wire, behind the removal of secrets. Beside
// those of the run they are the values of all variables whose names suggest it, since
// hosts have an environment, and what they say is kept. nil when nothing is recorded.
func (c *Config) wire(lookup func(string) (string, bool)) func(hosttrace.Line) {
	if c.Listeners.Wire == nil {
		return nil
	}
	known := c.secrets(lookup)
	known.AddNamed(c.Environ)
	return func(l hosttrace.Line) {
		l.Text = string(known.JSON([]byte(l.Text)))
		c.Listeners.Wire(l)
	}
}
