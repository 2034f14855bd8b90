package value

import "testing"

// BenchmarkBlock measures the creation of a struct with two fields, and of a Result.
func BenchmarkBlock(b *testing.B) {
	t := &Type{Kind: TypeStruct, Name: "T"}
	var blockSink Slot
	b.Run("New", func(b *testing.B) {
		for b.Loop() {
			blockSink = New(KindStruct, 0, t, Int(1), Int(2))
		}
	})
	b.Run("Ok", func(b *testing.B) {
		for b.Loop() {
			blockSink = Ok(Int(1))
		}
	})
	_ = blockSink
}
