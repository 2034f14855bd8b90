// Command caller is the Go program with which the benchmarks compare the calls of agents. `caller
// URL N` makes the same requests to a model server as N calls of an agent, with net/http and
// encoding/json, one after the other. `caller URL N at once` makes them concurrently.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
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

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func exchange(url string) error {
	body, err := json.Marshal(map[string]any{"model": "m", "messages": []message{{"user", "How far along is the work, and what is left to do?"}}})
	if err != nil {
		return err
	}
	resp, err := http.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var reply struct {
		ID      string `json:"id"`
		Model   string `json:"model"`
		Choices []struct {
			Message      message `json:"message"`
			FinishReason string  `json:"finish_reason"`
		} `json:"choices"`
		Usage map[string]int64 `json:"usage"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil {
		return err
	}
	switch {
	case len(reply.Choices) != 1 || reply.Choices[0].Message.Content == "" || reply.Choices[0].FinishReason == "":
		return errors.New("the model returns no text")
	case reply.ID == "" || reply.Model == "" || reply.Usage["prompt_tokens"] == 0 || reply.Usage["completion_tokens"] == 0:
		return errors.New("the model's answer does not say whose it is, or what it took")
	}
	return nil
}
