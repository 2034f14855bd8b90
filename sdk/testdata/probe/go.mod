module probe

go 1.22

require github.com/concerto-lang/concerto/sdk/go v0.1.0

replace github.com/concerto-lang/concerto/sdk/go => ../../go
