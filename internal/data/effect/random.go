package effect

// The kinds of chance.
const (
	KindRandom     Kind = "random"
	KindRandomSeed Kind = "random.seed"
	KindSecret     Kind = "random.secret"
)

// Random draws from the run's random numbers and returns *RandomBits. With a seed, the numbers are
// the same in each run.
type Random struct{}

// RandomBits is 64 random bits.
type RandomBits struct {
	Bits uint64 `json:"bits"`
}

// RandomSeed seeds the run's random numbers from here on with Seed. Its result
// is nil.
type RandomSeed struct {
	Seed int64 `json:"seed"`
}

// Secret returns Bytes unpredictable bytes, independent of any seed, as *SecretBytes.
type Secret struct {
	Bytes int64 `json:"bytes"`
}

// SecretBytes are unguessable bytes.
type SecretBytes struct {
	Bytes []byte `json:"bytes"`
}

// Kind is KindRandom.
func (*Random) Kind() Kind { return KindRandom }

// Kind is KindRandomSeed.
func (*RandomSeed) Kind() Kind { return KindRandomSeed }

// Kind is KindSecret.
func (*Secret) Kind() Kind { return KindSecret }
