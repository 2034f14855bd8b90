package value

// Party contains the slots of an agent or a host: the number of its declaration, and the values
// that builders have set. Builders copy the Party; that of the declaration never changes.
type Party []Slot

// The indexes of the slots in a Party.
const (
	PartyIndex    = iota // Int: number of the declaration
	PartyContext         // value passed to with_context; nil if there is none
	PartyMemory          // a memory, or nil
	PartyAuto            // Bool: calls read and write the memory
	PartyTools           // Array of tools that builders have added, or nil
	PartyToolsOff        // Bool: the declared tools are not offered
	PartySchema          // of a host: text of the JSON Schema in the prompt, or nil
	PartySession         // of a host: id of the conversation to continue, or nil
	// of a host: HostError with which an exchange fails before it starts, or nil
	PartyUnready
	PartyFiles     // of an agent: Array of paths of the files in its prompts, or nil
	PartyWorkspace // of a host: name of the workspace in which it works, or nil
	PartyGates     // of a host: Array of pairs of a function, or nil for the manifest's commands, and its max_turns; or nil

	// of an agent: text of the hash that identifies it as a judge of an eval, or nil
	PartyJudge = PartySession
	// of an agent, during a call: Int, the lists of its servers' tools that the call offers; nil
	// for the current ones
	PartyListing = PartyWorkspace
)

// NewParty returns the value of the agent (KindAgent) or host (KindHost) with declaration number
// index.
func NewParty(k Kind, t *Type, index int, memory Slot) Slot {
	return New(k, 0, t, Int(int64(index)), Nil, memory, Bool(true), Nil, Bool(false), Nil, Nil, Nil, Nil, Nil, Nil)
}

// Party returns the slots of an agent or a host, and nil for other values.
func (s Slot) Party() Party {
	if k := s.Kind(); k != KindAgent && k != KindHost {
		return nil
	}
	return s.Fields()
}

// Index returns the number of the declaration among those of the same kind.
func (p Party) Index() int { return int(p[PartyIndex].AsInt()) }
