package effect

// KindInput is the kind of Input.
const KindInput Kind = "input"

// Input reads the next line of standard input, or the rest of the input if All is set. It returns
// an *InputText. Its *Error is an FsError with the field path.
type Input struct {
	All bool `json:"all,omitempty"`
}

// InputText is the text that an Input has read. A line has no newline. End means that there was no
// further line.
type InputText struct {
	Text string `json:"text"`
	End  bool   `json:"end,omitempty"`
}

// Kind returns KindInput.
func (*Input) Kind() Kind { return KindInput }
