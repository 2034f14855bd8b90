package runtime

import "github.com/concerto-lang/concerto/internal/record/hosttrace"

// wire returns the function that receives the lines of hosts. It removes secrets and calls Wire. In
// addition to the secrets of the run, it removes the values of all variables whose names suggest a
// secret, because hosts inherit variables and the lines are stored. It returns nil if Wire is nil.
func (c *Config) wire(lookup func(string) (string, bool)) func(hosttrace.Line) {
	if c.Listeners.Wire == nil {
		return nil
	}
	secrets := c.secrets(lookup)
	secrets.AddFromEnviron(c.Environ)
	return func(l hosttrace.Line) {
		l.Text = string(secrets.JSON([]byte(l.Text)))
		c.Listeners.Wire(l)
	}
}
