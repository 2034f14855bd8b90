package ample

import (
	"encoding/json"
	"testing"
)

// TestGo: what is started runs, beside whoever starts it.
func TestGo(t *testing.T) {
	said, done := make(chan int), make(chan bool)
	Go(func() {
		done <- <-said == 7
	})
	said <- 7
	if !<-done {
		t.Error("it heard something else")
	}
}

// BenchmarkGo is a goroutine that reads JSON; "plain" is one of the language's.
func BenchmarkGo(b *testing.B) {
	for name, start := range map[string]func(func()){"ample": Go, "plain": func(f func()) { go f() }} {
		b.Run(name, func(b *testing.B) {
			done := make(chan error)
			for b.Loop() {
				start(func() {
					var v any
					done <- json.Unmarshal([]byte(`{"a":[{"b":[1,2,{"c":3}]}]}`), &v)
				})
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
