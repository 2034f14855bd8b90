package effect

// The kinds of requests for random numbers.
const (
	KindRandom     Kind = "random"
	KindRandomSeed Kind = "random.seed"
	KindSecret     Kind = "random.secret"
)

// Random returns the next random number of the run as *RandomBits. With a seed, the numbers are the
// same in each run.
type Random struct{}

// RandomBits contains 64 random bits.
type RandomBits struct {
	Bits uint64 `json:"bits"`
}

// RandomSeed sets the seed for the run's next random numbers. Its result is nil.
type RandomSeed struct {
	Seed int64 `json:"seed"`
}

// Secret returns Bytes unpredictable bytes, independent of any seed, as *SecretBytes.
type Secret struct {
	Bytes int64 `json:"bytes"`
}

// SecretBytes contains unpredictable bytes.
type SecretBytes struct {
	Bytes []byte `json:"bytes"`
}

// Kind returns KindRandom.
func (*Random) Kind() Kind { return KindRandom }

// Kind returns KindRandomSeed.
func (*RandomSeed) Kind() Kind { return KindRandomSeed }

// Kind returns KindSecret.
func (*Secret) Kind() Kind { return KindSecret }
