package runtime

import "github.com/concerto-lang/concerto/internal/record/hosttrace"

// wire returns the function that receives the lines of hosts: Wire, after secrets were removed. In
// addition to the run's secrets it removes the values of all variables whose names suggest a
// secret, since hosts have an environment and the lines are stored. It is nil if nothing is
// recorded.
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
