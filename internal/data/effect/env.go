package effect

// The kinds of the environment.
const (
	KindEnv    Kind = "env"
	KindEnvAll Kind = "env.all"
)

// Env reads the environment variable Name and gives an *EnvValue.
type Env struct {
	Name string `json:"name"`
}

// EnvValue is an environment variable. Set tells an empty one from none.
type EnvValue struct {
	Value string `json:"value"`
	Set   bool   `json:"set"`
}

// Kind is KindEnv.
func (*Env) Kind() Kind { return KindEnv }

// EnvAll reads all environment variables that the program may read, and gives
// *EnvVariables.
type EnvAll struct{}

// EnvVariables are environment variables, sorted by name.
type EnvVariables struct {
	Names  []string `json:"names"`
	Values []string `json:"values"`
}

// Kind is KindEnvAll.
func (*EnvAll) Kind() Kind { return KindEnvAll }
