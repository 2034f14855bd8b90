package value

// A Party is an agent or a host as a value, slot by slot: which declaration it is,
// and what builders gave it. Builders copy it; the declaration's own is never
// changed.
type Party []Slot

// The slots of a Party.
const (
	PartyIndex    = iota // Int: which declaration
	PartyContext         // what with_context gave; nil when absent
	PartyMemory          // a memory, or nil
	PartyAuto            // Bool: the memory is read and written by calls
	PartyTools           // Array of added tools, or nil
	PartyToolsOff        // Bool: declared tools are not offered
	PartySchema          // of a host: JSON Schema text that goes with the prompt, or nil
	PartySession         // of a host: the conversation to continue, or nil
	// of a host: the HostError with which its exchange fails before it starts, or nil
	PartyUnready
	PartyFiles // of an agent: Array of the paths of the files in its prompts, or nil
)

// NewParty makes the value of declaration number index. k is KindAgent or KindHost.
func NewParty(k Kind, t *Type, index int, memory Slot) Slot {
	return New(k, 0, t, Int(int64(index)), Nil, memory, Bool(true), Nil, Bool(false), Nil, Nil, Nil, Nil)
}

// Party returns the slots of an agent or a host, nil for any other value.
func (s Slot) Party() Party {
	if k := s.Kind(); k != KindAgent && k != KindHost {
		return nil
	}
	return s.Fields()
}

// Index returns which declaration of its kind the party is.
func (p Party) Index() int { return int(p[PartyIndex].AsInt()) }
