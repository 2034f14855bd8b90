package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// The weights of a word by its place.
const (
	titleWeight   = 14.0
	headingWeight = 6.0
	aboutWeight   = 5.0 // in the description of the page in the list of its section
	textWeight    = 1.0
	codeWeight    = 0.25
)

// maxOccurrences is the number of occurrences of a word in a section that count.
const maxOccurrences = 4

// passage is a part of a page that a search finds: the text from one heading to the next.
type passage struct {
	page    int
	id      string
	heading string
	words   map[string]float64
	length  int    // number of words
	text    string // without code and markup
}

// index is the index of the search, as the script of the pages reads it.
type index struct {
	// Pages has the path, the title and the section of each page.
	Pages [][3]string `json:"pages"`
	// Passages has the page, the anchor and the heading of each passage.
	Passages [][3]any `json:"passages"`
	// Terms has all words, sorted, separated by spaces. Lists has, for each word, its passages and
	// weights: the difference to the previous passage in base 36, and the weight as a letter from
	// A, which is 1.
	Terms string   `json:"terms"`
	Lists []string `json:"lists"`
}

// searchIndex returns the scripts with the index and with the texts of its passages. A script can
// be loaded from a file.
func (s *site) searchIndex() (script, texts []byte, err error) {
	out, prose := index{Lists: []string{}}, []string{}
	postings := map[string][]byte{}
	last := map[string]int{}
	for i, p := range s.pages() {
		name := p.Section.Title
		if p == s.home {
			name = ""
		}
		out.Pages = append(out.Pages, [3]string{p.Path, p.Title, name})
		passages, err := s.passages(i, p)
		if err != nil {
			return nil, nil, err
		}
		for _, x := range passages {
			n := len(out.Passages)
			prose = append(prose, strings.Join(strings.Fields(x.text), " "))
			out.Passages = append(out.Passages, [3]any{x.page, x.id, x.heading})
			for _, term := range slices.Sorted(maps.Keys(x.words)) {
				weight := min(25, int(math.Round(4*math.Log2(1+x.words[term]))))
				postings[term] = append(postings[term], strconv.FormatInt(int64(n-last[term]), 36)...)
				postings[term] = append(postings[term], byte('A'+weight))
				last[term] = n
			}
		}
	}
	terms := slices.Sorted(maps.Keys(postings))
	out.Terms = strings.Join(terms, " ")
	for _, t := range terms {
		out.Lists = append(out.Lists, string(postings[t]))
	}
	if script, err = assignment("concertoSearch", out); err != nil {
		return nil, nil, err
	}
	texts, err = assignment("concertoTexts", prose)
	return script, texts, err
}

// assignment returns a script that assigns a value to a property of window.
func assignment(name string, v any) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "window.%s = ", name)
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// passages returns the passages of a page.
func (s *site) passages(number int, p *page) ([]*passage, error) {
	doc, err := s.convert(p)
	if err != nil {
		return nil, err
	}
	current := &passage{page: number, words: map[string]float64{}}
	current.add(s.described(p), aboutWeight)
	if p != s.home {
		current.add(p.Section.Title, 2*textWeight)
	}
	all := []*passage{current}
	headings := doc.Headings
	fence := ""
	for line := range strings.Lines(p.Text) {
		l := strings.TrimRight(line, "\r\n")
		switch {
		case fence == "" && strings.HasPrefix(l, "```"):
			fence = l[:len(l)-len(strings.TrimLeft(l, "`"))]
		case fence != "" && l == fence:
			fence = ""
		case fence != "":
			current.add(l, codeWeight)
		case headingLine.MatchString(l) && len(headings) > 0:
			h := headings[0]
			headings = headings[1:]
			if h.Level == 1 {
				current.add(h.Text, titleWeight)
				current.add(strings.ReplaceAll(base(p), "-", " "), headingWeight)
				break
			}
			current = &passage{page: number, id: h.ID, heading: h.Text, words: map[string]float64{}}
			all = append(all, current)
			current.add(h.Text, headingWeight)
		default:
			current.add(plainText(l), textWeight)
			current.text += " " + proseOf(l)
		}
	}
	if len(headings) > 0 {
		return nil, fmt.Errorf("the heading %q was not found in the text", headings[0].Text)
	}
	for _, x := range all {
		x.normalize()
	}
	return all, nil
}

// tableMark matches the marks of tables, lists, quotes and comments in a line of Markdown.
var tableMark = regexp.MustCompile(`^\|[\s|:-]+$|^\|\s*|\s*\|$|^\s*(?:[-*>]|\d+\.) +|<!--.*?-->`)

// proseOf returns the text of a line of Markdown, as excerpts show it.
func proseOf(line string) string {
	return strings.ReplaceAll(plainText(tableMark.ReplaceAllString(line, "")), " | ", " · ")
}

// usualLength is the number of words of a passage of usual length.
const usualLength = 80

// normalize reduces the weights of the words in the text of a long passage, which contains most
// words.
func (x *passage) normalize() {
	factor := 1 / (0.7 + 0.3*min(4, float64(x.length)/usualLength))
	for t, w := range x.words {
		if w < aboutWeight {
			x.words[t] = w * factor
		}
	}
}

var headingLine = regexp.MustCompile(`^#{1,6} `)

// add adds the words of a text.
func (x *passage) add(text string, weight float64) {
	for _, t := range terms(text) {
		x.length++
		x.words[t] = max(min(x.words[t]+weight, maxOccurrences*textWeight), x.words[t], weight)
	}
}

// terms returns the words of a text as the search compares them: codes and names exactly, in lower
// case, with their parts; other words without their endings. The script of the pages does the same
// with queries.
func terms(text string) (all []string) {
	for _, w := range word.FindAllString(text, -1) {
		lower := strings.ToLower(w)
		parts := strings.FieldsFunc(lower, func(r rune) bool { return r == ':' || r == '.' || r == '-' || r == '_' })
		if len(parts) != 1 || parts[0] != lower {
			all = append(all, lower)
			parts = append(parts, camels(w)...)
		} else if c := camels(w); len(c) > 1 {
			all = append(all, lower)
			parts = c
		}
		for _, p := range parts {
			if !slices.Contains(stopWords, p) {
				all = append(all, stem(p))
			}
		}
	}
	return all
}

// camels returns the words of a name such as HostApproval, in lower case.
func camels(name string) (all []string) {
	at := 0
	runes := []rune(name)
	for i := 1; i < len(runes); i++ {
		if unicode.IsUpper(runes[i]) && unicode.IsLower(runes[i-1]) {
			all = append(all, strings.ToLower(string(runes[at:i])))
			at = i
		}
	}
	if at == 0 {
		return nil
	}
	return append(all, strings.ToLower(string(runes[at:])))
}

// stopWords are words that the search ignores.
var stopWords = strings.Fields("a an and are as at be by can do does for from has have how i if in is it its me my of on or that the their then there this to was what when where which who why will with without you your")

// stem removes the endings of plurals and verbs from a word.
func stem(w string) string {
	if len(w) < 4 || strings.ContainsFunc(w, func(r rune) bool { return r < 'a' || r > 'z' }) {
		return w
	}
	switch {
	case w == "used" || w == "using" || w == "uses":
		return "use"
	case strings.HasSuffix(w, "ies") && len(w) > 4:
		w = w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "us"), strings.HasSuffix(w, "is"):
	case strings.HasSuffix(w, "s"):
		w = w[:len(w)-1]
	case strings.HasSuffix(w, "ing") && len(w) > 5:
		w = single(w[:len(w)-3])
	case strings.HasSuffix(w, "ied"):
		w = w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "ed") && len(w) > 4:
		w = single(w[:len(w)-2])
	}
	if strings.HasSuffix(w, "val") && len(w) > 5 {
		w = strings.TrimSuffix(w, "al")
	}
	if len(w) > 3 {
		w = strings.TrimSuffix(w, "e")
	}
	return w
}

// single removes the second of two equal consonants at the end of a word.
func single(w string) string {
	if n := len(w); n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("aeiouls", rune(w[n-1])) {
		return w[:n-1]
	}
	return w
}
