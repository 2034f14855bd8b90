package effect

// The kinds of requests for environment variables.
const (
	KindEnv    Kind = "env"
	KindEnvAll Kind = "env.all"
)

// Env returns the environment variable Name as an *EnvValue.
type Env struct {
	Name string `json:"name"`
}

// EnvValue is the value of an environment variable. Set is false if the variable does not exist.
type EnvValue struct {
	Value string `json:"value"`
	Set   bool   `json:"set"`
}

// Kind returns KindEnv.
func (*Env) Kind() Kind { return KindEnv }

// EnvAll returns all environment variables that the program may read as *EnvVariables.
type EnvAll struct{}

// EnvVariables contains environment variables, sorted by name.
type EnvVariables struct {
	Names  []string `json:"names"`
	Values []string `json:"values"`
}

// Kind returns KindEnvAll.
func (*EnvAll) Kind() Kind { return KindEnvAll }
