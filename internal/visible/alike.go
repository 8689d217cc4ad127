package visible

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// latinLike are letters of other alphabets that are drawn like a Latin one in the usual fonts, or like one of each
// other. A word of such letters alone could be taken for another word.
var latinLike = map[*unicode.RangeTable]string{
	unicode.Cyrillic: "АВЕЅІЈКМНОРСТУХЬаеѕіјорсухһԁԛԝӏԚԜҮүҽкгпьѴѵЗзбЫӀӐӑӒӓӔӕЀѐЁёЇїӦӧҪҫӨөӘәӠӡԌԍ",
	unicode.Greek:    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧΓΠΦΛΘΨαικνορτυχγεηωσϲϳϹϺϻΪΫάίόύώϊϋΐΰέήϱϒ",
}

// alone are characters that are drawn like another one and belong to no honest text of their own: they are always
// written out. Letters like these of other alphabets are judged by their words.
const alone = "ɑɡıȷǀǃꞌ꞉‐‑‒−∕⁄∖⧵﹨․∙⋅∶։׃ꓽ٫٬‚＇‵ʹˈˊˋ´｀՝ꓸꓹ⸱٭∗⁎∣｜⏐❘╱╲⟋⟍˗﹣ー𐄀ǁ‖∥⩴⁏；፡׀ߊ۰०০੦૦୦௦౦೦൦๐໐၀᱐ⲟꓳՕ"

// looksLikeOther reports whether the characters before and at the start of s, drawn, are another text's too: r has
// another canonical form, which looks the same, or has one together with what is before it.
func looksLikeOther(before, r rune) bool {
	if r < 0x300 {
		return strings.ContainsRune(alone, r) && r >= utf8.RuneSelf
	}
	if strings.ContainsRune(alone, r) || !norm.NFC.IsNormalString(string(r)) || compatible(r) {
		return true
	}
	p := norm.NFC.PropertiesString(string(r))
	return before != 0 && !p.BoundaryBefore() && !norm.NFC.IsNormalString(string([]rune{before, r}))
}

// compatible reports whether a character is a form of ASCII characters that fonts draw like them: Ⅰ, ⅽ, ℓ.
func compatible(r rune) bool {
	if r < 0x2000 || r >= 0x3000 && r < 0xFB00 {
		return false
	}
	if r >= 0x2460 && r < 0x2500 || r >= 0x2070 && r < 0x20A0 ||
		r >= 0x2190 && r < 0x2300 || r >= 0x2150 && r < 0x2160 {
		return false // in circles, raised or lowered, fractions
	}
	switch r {
	case '…', '‥', '℃', '℉', '№', '™', '℠', '℡':
		return false
	}
	plain := norm.NFKC.String(string(r))
	return plain != string(r) && strings.Trim(plain, asciiLetters) == ""
}

const asciiLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// judgement is what becomes of a word's letters.
type judgement int

const (
	honest  judgement = iota
	like              // only letters that look like Latin ones: marked
	written           // other letters than Latin ones are written out
)

// judge looks at a word: letters, marks and digits in a row.
func judge(word string) judgement {
	latin, distinct, similar, others := false, false, false, 0
	var seen *unicode.RangeTable
	for _, r := range word {
		switch {
		case r < utf8.RuneSelf:
			latin = latin || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
			continue
		case !unicode.IsLetter(r), unicode.Is(unicode.Common, r):
			continue
		case unicode.Is(unicode.Latin, r):
			latin = true
			continue
		}
		table := alphabet(r)
		switch {
		case table == nil:
			continue
		case table == unicode.Letter: // of an alphabet that is not told apart here
			return written
		case table != seen:
			seen, others = table, others+1
		}
		if strings.ContainsRune(latinLike[table], r) {
			similar = true
		} else {
			distinct = true
		}
	}
	switch {
	case others > 1, others == 1 && latin:
		return written
	case similar && !distinct && seen == unicode.Cyrillic:
		return like
	case similar && !distinct:
		return written
	}
	return honest
}

// alphabet returns the script of a letter that may be drawn like a Latin one; unicode.Letter for scripts of which it is
// not known which letters are; nil for scripts that no Latin letter is drawn like.
func alphabet(r rune) *unicode.RangeTable {
	switch {
	case unicode.Is(unicode.Cyrillic, r):
		return unicode.Cyrillic
	case unicode.Is(unicode.Greek, r):
		return unicode.Greek
	case unicode.In(r, unicode.Cherokee, unicode.Lisu, unicode.Coptic, unicode.Deseret, unicode.Osage, unicode.Carian,
		unicode.Lycian, unicode.Lydian, unicode.Old_Italic, unicode.Runic, unicode.Gothic, unicode.Vai, unicode.Miao,
		unicode.Tifinagh, unicode.Canadian_Aboriginal, unicode.Elbasan, unicode.Caucasian_Albanian, unicode.Bamum,
		unicode.Warang_Citi, unicode.Medefaidrin, unicode.Adlam, unicode.Old_Permic, unicode.Vithkuqi,
		unicode.Armenian, unicode.Nko):
		return unicode.Letter
	}
	return nil
}

func inWord(r rune) bool { return unicode.In(r, unicode.L, unicode.M, unicode.N) }

// wordAt returns the word at the start of s.
func wordAt(s string) string {
	if i := strings.IndexFunc(s, func(r rune) bool { return !inWord(r) }); i >= 0 {
		return s[:i]
	}
	return s
}

// Mixed reports whether a text has words that are marked or written out because their letters could be taken for
// others, or mixes directions of writing.
func Mixed(s string) bool {
	if isASCII(s) {
		return false
	}
	for line := range strings.SplitSeq(s, "\n") {
		if strings.ContainsFunc(line, func(r rune) bool { return r >= 0x590 && rightToLeft(direction(r)) }) &&
			mixesDirections(line) {
			return true
		}
	}
	for i, r := range s {
		if before, _ := utf8.DecodeLastRuneInString(s[:i]); i > 0 && inWord(before) || !inWord(r) {
			if r >= utf8.RuneSelf && strings.ContainsRune(alone, r) {
				return true
			}
			continue
		}
		if judge(wordAt(s[i:])) != honest {
			return true
		}
	}
	return false
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
