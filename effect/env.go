package effect

// KindEnv reads an environment variable.
const KindEnv Kind = "env"

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
