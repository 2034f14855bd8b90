package procgroup

import "math/rand/v2"

// Mark is the variable by which a process, and whatever it starts, is known to
// be a run's: its value is the run's id, a colon and the name of whom the process
// plays.
const Mark = "CONCERTO_HOST"

// Run is the run to which processes belong. A nil Run is nobody's.
type Run struct {
	ID string // see NewID
}

// NewID gives a run's id: no other run on any machine has it.
func NewID() string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	id := []byte("r_0123456789abcdef")
	for i := 2; i < len(id); i++ {
		id[i] = letters[rand.IntN(len(letters))]
	}
	return string(id)
}

// Start starts a command as the package's Start does, marked as the run's.
func (r *Run) Start(c Command) (*Process, error) {
	if r != nil && c.Name != "" {
		c.Env = append(c.Env[:len(c.Env):len(c.Env)], Mark+"="+r.ID+":"+c.Name)
	}
	return Start(c)
}
