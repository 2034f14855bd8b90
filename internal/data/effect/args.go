package effect

// KindArgs reads the program's arguments.
const KindArgs Kind = "env.args"

// Args reads what followed `--` on the command line and gives an *ArgsValue.
type Args struct{}

// ArgsValue is the program's arguments, without its own name.
type ArgsValue struct {
	Args []string `json:"args"`
}

// Kind is KindArgs.
func (*Args) Kind() Kind { return KindArgs }
