package patchtool

import "strings"

// line is a line of a file: its text and its end, "\n", "\r\n" or, of the last, "".
type line struct{ text, end string }

// split takes a file apart. Joined again, the lines are the file byte for byte.
func split(data string) []line {
	lines := make([]line, 0, strings.Count(data, "\n")+1)
	for whole := range strings.Lines(data) {
		text, terminated := strings.CutSuffix(whole, "\n")
		if !terminated {
			lines = append(lines, line{text: text})
		} else if short, ok := strings.CutSuffix(text, "\r"); ok {
			lines = append(lines, line{short, "\r\n"})
		} else {
			lines = append(lines, line{text, "\n"})
		}
	}
	return lines
}

func join(lines []line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.text)
		b.WriteString(l.end)
	}
	return b.String()
}

// texts are the lines without their ends.
func texts(lines []line) []string {
	all := make([]string, len(lines))
	for i, l := range lines {
		all[i] = l.text
	}
	return all
}

// endAt is the line end that a line gets which is put before lines[i]: that of a neighbour.
func endAt(lines []line, i int) string {
	for _, j := range []int{i - 1, i, i - 2} {
		if j >= 0 && j < len(lines) && lines[j].end != "" {
			return lines[j].end
		}
	}
	return "\n"
}

// replace puts the new lines of a hunk in the place of its old ones, which begin at lines[at], and appends them to out.
func (h *hunk) replace(out, lines []line, at int) []line {
	for _, c := range h.lines {
		switch c.kind {
		case ' ':
			out = append(out, lines[at])
			at++
		case '-':
			at++
		case '+':
			end := endAt(lines, at)
			text := c.text
			if end == "\r\n" {
				text = strings.TrimSuffix(text, "\r")
			}
			out = append(out, line{text, end})
		}
	}
	return out
}

// finish makes the last line end as the last line did before, and the others with a line end.
func finish(before, after []line) []line {
	open := len(before) > 0 && before[len(before)-1].end == ""
	for i := range after {
		switch last := i == len(after)-1; {
		case last && open:
			after[i].end = ""
		case after[i].end == "":
			after[i].end = endAt(before, len(before))
		}
	}
	return after
}
