package journal

import (
	"encoding/json"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// HasContinued is the member X in the finish record of a run that has continued as a new run.
const HasContinued = "continued"

// Continues describes the earlier run of which a run is the successor.
type Continues struct {
	Run       string                   `json:"run"`                 // id
	Name      string                   `json:"name"`                // name in the store; see Run.Sibling
	N         int                      `json:"n"`                   // number of runs before this one
	Questions []effect.CarriedQuestion `json:"questions,omitempty"` // those that were open
}

// Successor describes the successor of a run.
type Successor struct {
	Run       string          // id
	Name      string          // name in the store; see Run.Sibling
	Inputs    json.RawMessage // with marks in place of secrets
	Continues *Continues      // what the successor stores about the run
}

// Continuer is a Writer of a store in which workers execute the runs. Close then submits the
// successor, in one step with the end of the run.
type Continuer interface {
	ContinueAs(next *Successor)
}
