package gatekeeper

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// TestParseLocation checks the nodes that Gatekeeper v3.23.1 reads from these texts.
func TestParseLocation(t *testing.T) {
	for text, want := range map[string]location{
		"":                               nil,
		"  \t\r\n ":                      nil,
		"spec":                           {{name: "spec"}},
		" spec . x ":                     {{name: "spec", offset: 1}, {name: "x", offset: 8}},
		"a.-b_9.C":                       {{name: "a"}, {name: "-b_9", offset: 2}, {name: "C", offset: 7}},
		`"a.b".'c"d'`:                    {{name: "a.b"}, {name: `c"d`, offset: 6}},
		`""`:                             {{name: ""}},
		`"a\"b\\\n"`:                     {{name: `a"b\n`}},
		`"größe"."1"`:                    {{name: "größe"}, {name: "1", offset: 10}},
		"a[k:v].b":                       {{name: "a"}, {list: true, name: "k", key: "v", offset: 1}, {name: "b", offset: 7}},
		"a[k: 0123]":                     {{name: "a"}, {list: true, name: "k", key: int64(123), offset: 1}},
		`a[k: "12"]`:                     {{name: "a"}, {list: true, name: "k", key: "12", offset: 1}},
		"a[k: -1]":                       {{name: "a"}, {list: true, name: "k", key: "-1", offset: 1}},
		"a[k: true]":                     {{name: "a"}, {list: true, name: "k", key: "true", offset: 1}},
		"a[k: *].b":                      {{name: "a"}, {list: true, name: "k", glob: true, offset: 1}, {name: "b", offset: 8}},
		`a[k: "*"].b`:                    {{name: "a"}, {list: true, name: "k", key: "*", offset: 1}, {name: "b", offset: 10}},
		"a[k: 9223372036854775807]":      {{name: "a"}, {list: true, name: "k", key: int64(9223372036854775807), offset: 1}},
		"a\n[\n'k'\n:\n'v'\n]\n.\nb\n\n": {{name: "a"}, {list: true, name: "k", key: "v", offset: 2}, {name: "b", offset: 18}},
	} {
		got, err := parseLocation(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if len(got) != len(want) {
			t.Errorf("%q: got %+v, want %+v", text, got, want)
			continue
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%q: node %d: got %#v, want %#v", text, i, got[i], want[i])
			}
		}
	}
}

// TestParseLocationErrors checks the messages of Gatekeeper v3.23.1 and their offsets.
func TestParseLocationErrors(t *testing.T) {
	for text, want := range map[string]struct {
		message string
		offset  int
	}{
		".a":                        {`unexpected token: expected field name or eof, got: SEPARATOR: "."`, 0},
		"a..b":                      {`unexpected token: expected field name or eof, got: SEPARATOR: "."`, 2},
		"a.":                        {"trailing separators are forbidden", 1},
		"a b":                       {`unexpected token: expected '.' or eof, got: IDENT: "b"`, 2},
		"1st":                       {`unexpected token: expected field name or eof, got: INT: "1"`, 0},
		"*":                         {`unexpected token: expected field name or eof, got: GLOB: "*"`, 0},
		"a.*.b":                     {`unexpected token: expected field name or eof, got: GLOB: "*"`, 2},
		"app*":                      {`unexpected token: expected '.' or eof, got: GLOB: "*"`, 3},
		"/a":                        {`unexpected token: expected field name or eof, got: ERROR: "/"`, 0},
		"größe":                     {`unexpected token: expected '.' or eof, got: ERROR: "ö"`, 2},
		"a[":                        {`unexpected token: expected keyField in listSpec, got: EOF: ""`, 2},
		"a[]":                       {`unexpected token: expected keyField in listSpec, got: RBRACKET: "]"`, 2},
		"a[*]":                      {`unexpected token: expected keyField in listSpec, got: GLOB: "*"`, 2},
		"a[0]":                      {`unexpected token: expected keyField in listSpec, got: INT: "0"`, 2},
		"a[k]":                      {`unexpected token: expected ':' following keyField k, got: RBRACKET: "]"`, 3},
		"a[k:]":                     {`unexpected token: expected key value or glob in listSpec, got: RBRACKET: "]"`, 4},
		"a[k: 1st]":                 {`unexpected token: expected ']' following listSpec, got: IDENT: "st"`, 6},
		"a[k: v][l: w]":             {`unexpected token: expected '.' or eof, got: LBRACKET: "["`, 7},
		"[k: v]":                    {`unexpected token: expected field name or eof, got: LBRACKET: "["`, 0},
		`a["k: v]`:                  {`unexpected token: expected keyField in listSpec, got: ERROR: "k: v]"`, 2},
		"a[k: 9223372036854775808]": {"invalid integer: overflow in integer string: 9223372036854775808: parsing key value for key: k", 5},
	} {
		_, err := parseLocation(text)
		var failed *locationError
		if !errors.As(err, &failed) || failed.text != want.message || failed.offset != want.offset {
			t.Errorf("%q: got %#v, want %q at %d", text, err, want.message, want.offset)
		}
	}
}

// TestLocationString checks that locations print as in Gatekeeper.
func TestLocationString(t *testing.T) {
	for text, want := range map[string]string{
		" spec . x[ 'name' : \"b\" ].c": "spec.x[name: b].c",
		`a[k: "80"].'b.c'[d: *]`:        `a[k: "80"]."b.c"[d: *]`,
		`a[k: 0080]."".'q"\\'`:          `a[k: 80].""."q\"\\"`,
		`"größe"`:                       `"größe"`,
	} {
		l, err := parseLocation(text)
		if err != nil || l.String() != want {
			t.Errorf("%q: got %q, want %q; error %v", text, l, want, err)
		}
	}
}

// written returns a random text of the grammar and the nodes that it describes.
func written(random *rand.Rand) (string, location) {
	var b strings.Builder
	var l location
	space := func() {
		for random.IntN(4) == 0 {
			b.WriteByte(" \t\r\n"[random.IntN(4)])
		}
	}
	name := func() string {
		if random.IntN(2) == 0 {
			const letters = "abcZ_-019"
			word := string(letters[random.IntN(6)])
			for random.IntN(3) > 0 {
				word += string(letters[random.IntN(len(letters))])
			}
			b.WriteString(word)
			return word
		}
		runes, quote := []rune(`a.b*[]: '"\/ö1`), rune(`'"`[random.IntN(2)])
		var content []rune
		b.WriteRune(quote)
		for random.IntN(4) > 0 {
			r := runes[random.IntN(len(runes))]
			if r == quote || r == '\\' || random.IntN(5) == 0 {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
			content = append(content, r)
		}
		b.WriteRune(quote)
		return string(content)
	}
	for n := random.IntN(4); n > 0; n-- {
		space()
		l = append(l, node{offset: b.Len()})
		l[len(l)-1].name = name()
		space()
		if random.IntN(2) == 0 {
			item := node{list: true, offset: b.Len()}
			b.WriteByte('[')
			space()
			item.name = name()
			space()
			b.WriteByte(':')
			space()
			switch random.IntN(3) {
			case 0:
				b.WriteByte('*')
				item.glob = true
			case 1:
				key := random.Int64()
				b.WriteString("00"[:random.IntN(3)] + strconv.FormatInt(key, 10))
				item.key = key
			default:
				item.key = name()
			}
			space()
			b.WriteByte(']')
			space()
			l = append(l, item)
		}
		if n > 1 {
			b.WriteByte('.')
		}
	}
	return b.String(), l
}

// FuzzLocation checks the parser against the grammar: it parses every text of the grammar, and a
// text that it accepts prints as a text with the same nodes.
func FuzzLocation(f *testing.F) {
	for _, text := range []string{"", "spec.containers[name: *].image", `a["k":'v']."b"`, "a[k: 012].b", "a..b", "a[k:9223372036854775808]"} {
		f.Add(text, uint64(1))
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		generated, want := written(rand.New(rand.NewPCG(seed, 0)))
		for _, text := range []string{text, generated} {
			l, err := parseLocation(text)
			if text == generated && err == nil {
				for i := range l {
					if len(l) != len(want) || l[i] != want[i] {
						t.Fatalf("%q: got %#v, want %#v", text, l, want)
					}
				}
			}
			if err != nil {
				var failed *locationError
				if text == generated || !errors.As(err, &failed) || failed.offset < 0 || failed.offset > len(text) {
					t.Fatalf("%q: %v", text, err)
				}
				continue
			}
			again, err := parseLocation(l.String())
			if err != nil || !l.hasPrefix(again) || !again.hasPrefix(l) {
				t.Fatalf("%q: %q reads as %q (%v)", text, l, again, err)
			}
		}
	})
}
