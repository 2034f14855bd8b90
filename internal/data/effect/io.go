package effect

// KindInput is the kind of Input.
const KindInput Kind = "input"

// Input reads the next line of standard input, or with All everything that is
// left of it, and returns an *InputText. Its *Error is an FsError with field path.
type Input struct {
	All bool `json:"all,omitempty"`
}

// InputText is what an Input read. A line is without its end. End reports that
// there was no further line.
type InputText struct {
	Text string `json:"text"`
	End  bool   `json:"end,omitempty"`
}

// Kind is KindInput.
func (*Input) Kind() Kind { return KindInput }
