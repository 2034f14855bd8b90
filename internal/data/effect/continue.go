package effect

import "encoding/json"

// KindContinue is the kind of Continue.
const KindContinue Kind = "run.continue"

// Continue ends a stored run, whose successor starts with the inputs. The result is a *Continued.
type Continue struct {
	Inputs json.RawMessage `json:"inputs"` // object
}

// Continued contains what the successor of a run takes over.
type Continued struct {
	Questions []CarriedQuestion `json:"questions,omitempty"`
}

// CarriedQuestion is a question that was open when its run continued as a new run.
type CarriedQuestion struct {
	ID      string          `json:"id"` // id of the question in the earlier run
	Channel string          `json:"channel"`
	Payload json.RawMessage `json:"payload,omitempty"`
	Since   int64           `json:"since"` // Unix milliseconds
}

// Kind returns KindContinue.
func (*Continue) Kind() Kind { return KindContinue }
