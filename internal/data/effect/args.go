package effect

// KindArgs reads the program's arguments.
const KindArgs Kind = "env.args"

// Args returns the arguments after `--` on the command line as an *ArgsValue.
type Args struct{}

// ArgsValue is the program's arguments, without its own name.
type ArgsValue struct {
	Args []string `json:"args"`
}

// Kind is KindArgs.
func (*Args) Kind() Kind { return KindArgs }
