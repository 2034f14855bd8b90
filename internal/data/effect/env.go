package effect

// The kinds of the environment.
const (
	KindEnv    Kind = "env"
	KindEnvAll Kind = "env.all"
)

// Env returns the environment variable Name as an *EnvValue.
type Env struct {
	Name string `json:"name"`
}

// EnvValue is an environment variable. Set distinguishes an empty one from a missing one.
type EnvValue struct {
	Value string `json:"value"`
	Set   bool   `json:"set"`
}

// Kind is KindEnv.
func (*Env) Kind() Kind { return KindEnv }

// EnvAll returns all environment variables that the program may read as *EnvVariables.
type EnvAll struct{}

// EnvVariables are environment variables, sorted by name.
type EnvVariables struct {
	Names  []string `json:"names"`
	Values []string `json:"values"`
}

// Kind is KindEnvAll.
func (*EnvAll) Kind() Kind { return KindEnvAll }
