// Command empty does nothing: it measures the minimum cost of starting a Go program.
package main

func main() {}
