package effect

// KindArgs is the kind of Args.
const KindArgs Kind = "env.args"

// Args returns the arguments after `--` on the command line as an *ArgsValue.
type Args struct{}

// ArgsValue contains the arguments of the program, without the name of the program.
type ArgsValue struct {
	Args []string `json:"args"`
}

// Kind returns KindArgs.
func (*Args) Kind() Kind { return KindArgs }
