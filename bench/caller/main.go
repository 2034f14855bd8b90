// Command caller is the peer of agents' calls. `caller URL N` makes the same
// exchanges with a model's server with net/http alone, one after the other;
// `caller URL N at once` makes them concurrently.
package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
)

func main() {
	n, err := strconv.Atoi(os.Args[2])
	if err == nil {
		err = exchanges(os.Args[1], n, len(os.Args) > 3)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(n)
}

func exchanges(url string, n int, atOnce bool) error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		if atOnce {
			all.Go(func() { errs[i] = exchange(url) })
		} else {
			errs[i] = exchange(url)
		}
	}
	all.Wait()
	return errors.Join(errs...)
}

func exchange(url string) error {
	resp, err := http.Post(url, "application/json", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"How far along is the work, and what is left to do?"}]}`))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
