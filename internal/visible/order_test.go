package visible

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/bidi"
	"pgregory.net/rapid"

	"countersign/internal/visible/visibletest"
)

// drawn returns the characters of a line from left to right, as the Unicode Bidirectional Algorithm draws them without
// explicit controls; of the base direction of the first letter where auto is true, else from the left. Mirrored
// brackets stand as they are drawn. It is a reference of rules W1 to W7, N1, N2, I1, I2, L2 and L4;
// TestReferenceIsTheAlgorithm compares it with golang.org/x/text.
func drawn(line string, auto bool) string {
	runes := []rune(line)
	levels := levelsOf(runes, auto)
	for i, r := range runes {
		if levels[i]%2 == 1 {
			if p, _ := bidi.LookupRune(r); p.IsBracket() {
				runes[i] = []rune(bidi.ReverseString(string(r)))[0]
			}
		}
	}
	for level := 2; level >= 1; level-- {
		for i := 0; i < len(runes); {
			j := i
			for j < len(runes) && levels[j] >= level {
				j++
			}
			slices.Reverse(runes[i:j])
			slices.Reverse(levels[i:j])
			i = max(j, i+1)
		}
	}
	return string(runes)
}

func levelsOf(runes []rune, auto bool) []int {
	base := bidi.L
	classes := make([]bidi.Class, len(runes))
	found := false
	for i, r := range runes {
		p, _ := bidi.LookupRune(r)
		classes[i] = p.Class()
		if c := classes[i]; auto && !found && (c == bidi.L || c == bidi.R || c == bidi.AL) {
			found = true
			if c != bidi.L {
				base = bidi.R
			}
		}
	}
	weak(classes, base)
	neutral(classes, base)
	levels := make([]int, len(runes))
	for i, c := range classes {
		switch {
		case base == bidi.L && c == bidi.R, base == bidi.R && c == bidi.R:
			levels[i] = 1
		case base == bidi.L && (c == bidi.EN || c == bidi.AN), base == bidi.R && c != bidi.R:
			levels[i] = 2
		}
	}
	for i := len(runes) - 1; i >= 0 && runes[i] == ' '; i-- { // L1
		levels[i] = 0
		if base == bidi.R {
			levels[i] = 1
		}
	}
	return levels
}

func weak(c []bidi.Class, base bidi.Class) {
	before, strong := base, base
	for i := range c { // W1, W2, W3
		if c[i] == bidi.NSM {
			c[i] = before
		}
		before = c[i]
		switch {
		case c[i] == bidi.L, c[i] == bidi.R, c[i] == bidi.AL:
			strong = c[i]
		case c[i] == bidi.EN && strong == bidi.AL:
			c[i] = bidi.AN
		}
	}
	for i := range c {
		if c[i] == bidi.AL {
			c[i] = bidi.R
		}
	}
	for i := 1; i < len(c)-1; i++ { // W4
		if c[i-1] == c[i+1] && (c[i] == bidi.CS && (c[i-1] == bidi.EN || c[i-1] == bidi.AN) ||
			c[i] == bidi.ES && c[i-1] == bidi.EN) {
			c[i] = c[i-1]
		}
	}
	for i := 0; i < len(c); i++ { // W5
		j := i
		for j < len(c) && c[j] == bidi.ET {
			j++
		}
		if j > i && (i > 0 && c[i-1] == bidi.EN || j < len(c) && c[j] == bidi.EN) {
			for k := i; k < j; k++ {
				c[k] = bidi.EN
			}
		}
		i = max(i, j-1)
	}
	strong = base
	for i := range c { // W6, W7
		switch {
		case c[i] == bidi.ES, c[i] == bidi.ET, c[i] == bidi.CS:
			c[i] = bidi.ON
		case c[i] == bidi.L, c[i] == bidi.R:
			strong = c[i]
		case c[i] == bidi.EN && strong == bidi.L:
			c[i] = bidi.L
		}
	}
}

func neutral(c []bidi.Class, base bidi.Class) {
	side := func(k bidi.Class) bidi.Class {
		if k == bidi.EN || k == bidi.AN {
			return bidi.R
		}
		return k
	}
	strong := func(k bidi.Class) bool { return k == bidi.L || k == bidi.R || k == bidi.EN || k == bidi.AN }
	for i := 0; i < len(c); i++ { // N1, N2
		if strong(c[i]) {
			continue
		}
		j := i
		for j < len(c) && !strong(c[j]) {
			j++
		}
		from, to := base, base
		if i > 0 {
			from = side(c[i-1])
		}
		if j < len(c) {
			to = side(c[j])
		}
		as := base
		if from == to {
			as = from
		}
		for ; i < j; i++ {
			c[i] = as
		}
	}
}

// letters are what the tests draw: one or two of each class that visible text has, but for brackets in pairs.
var letters = []rune{'k', 'א', 'ا', '1', '2', '٣', ' ', '-', '$', '.', 'ב', '!'}

// every calls visit with each text of so many of the letters.
func every(length int, visit func(string)) {
	text := make([]rune, length)
	var fill func(int)
	fill = func(i int) {
		if i == length {
			visit(string(text))
			return
		}
		for _, r := range letters {
			text[i] = r
			fill(i + 1)
		}
	}
	fill(0)
}

// TestReferenceIsTheAlgorithm compares the directions of the reference with those of golang.org/x/text.
func TestReferenceIsTheAlgorithm(t *testing.T) {
	t.Parallel()
	for length := 1; length <= 4; length++ {
		every(length, func(s string) {
			var p bidi.Paragraph
			if _, err := p.SetString(s); err != nil {
				t.Fatal(err)
			}
			order, err := p.Order()
			if err != nil {
				t.Fatal(err)
			}
			levels := levelsOf([]rune(s), true)
			for n := range order.NumRuns() {
				run := order.Run(n)
				from, to := run.Pos()
				for i := from; i <= to; i++ {
					if right := run.Direction() == bidi.RightToLeft; right != (levels[i]%2 == 1) {
						t.Fatalf("%q: character %d is drawn from the right: %v, at level %d", s, i, right, levels[i])
					}
				}
			}
		})
	}
}

// TestNoTwoTextsAreDrawnAlike draws every short text of letters of all directions, and longer ones at random.
func TestNoTwoTextsAreDrawnAlike(t *testing.T) {
	t.Parallel()
	for _, auto := range []bool{false, true} {
		seen := map[string]string{}
		bare := map[string]int{}
		for length := 1; length <= 4; length++ {
			every(length, func(s string) {
				if strings.TrimSpace(s) != s { // shown in quotes where that can be
					return
				}
				shown := drawn(Line(s), auto)
				if other, ok := seen[shown]; ok {
					t.Fatalf("%q and %q are both drawn as %q, by the first letter: %v", s, other, shown, auto)
				}
				seen[shown] = s
				bare[drawn(s, auto)]++
			})
		}
		if len(bare) == len(seen) {
			t.Error("the control: no two texts are drawn alike without marks")
		}
	}
}

// TestNoDirectionalControl looks at all code points, alone and between letters.
func TestNoDirectionalControl(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		for _, in := range []string{string(r), "א" + string(r) + "a1"} {
			for _, mode := range []Mode{OneLine, Source, Patch, Prose} {
				out, _ := Text(in, mode)
				for _, shown := range out {
					if unicode.Is(unicode.Bidi_Control, shown) {
						t.Fatalf("%q: U+%04X is sent", in, shown)
					}
				}
			}
		}
	}
}

func FuzzOrder(f *testing.F) {
	for _, seed := range []string{"kill א 12 34", "kill 34 12 א", "а", "a", "שלום 1 x", "٣ 1 ا"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		for _, mode := range []Mode{OneLine, Source, Patch} {
			out, _ := Text(in, mode)
			if mode != OneLine {
				out = strings.ReplaceAll(out, Tab, "\t")
			}
			if back := visibletest.Original(t, out); back != in {
				t.Fatalf("%q became %q, which reads %q", in, out, back)
			}
		}
	})
}

// TestWordsOfOtherAlphabets: two words of letters that look like each other are drawn differently. What a letter looks
// like is told by the table that is judged by, so that the test says nothing about its size; alikeWords are known ones.
func TestWordsOfOtherAlphabets(t *testing.T) {
	t.Parallel()
	looks := map[rune]rune{}
	const pairs = "аa еe оo рp сc уy хx іi ѕs јj АA ВB ЕE КK МM НH ОO РP СC ТT ХX ΑA ΒB ΕE ΟO οo νv"
	for pair := range strings.FieldsSeq(pairs) {
		runes := []rune(pair)
		looks[runes[0]] = runes[1]
	}
	skeleton := func(s string) string {
		return strings.Map(func(r rune) rune {
			if as, ok := looks[r]; ok {
				return as
			}
			return r
		}, s)
	}
	alphabet := []rune("aoxcаохсοжAАΑл ")
	rapid.Check(t, func(t *rapid.T) {
		one := rapid.StringOfN(rapid.RuneFrom(alphabet), 1, 6, -1).Draw(t, "one")
		other := []rune(one)
		for i, r := range other { // another spelling of what looks the same
			if alike := slices.Collect(func(yield func(rune) bool) {
				for _, a := range alphabet {
					if skeleton(string(a)) == skeleton(string(r)) && !yield(a) {
						return
					}
				}
			}); len(alike) > 1 {
				other[i] = rapid.SampledFrom(alike).Draw(t, "letter")
			}
		}
		if string(other) == one {
			return
		}
		if a, b := skeleton(Line(one)), skeleton(Line(string(other))); a == b {
			t.Fatalf("%+q and %+q are both drawn as %q", one, string(other), a)
		}
	})
}
