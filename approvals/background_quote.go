package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// quotedLine is a line of what the model reads beside the input.
type quotedLine struct {
	From  string   `json:"from,omitempty"`
	At    string   `json:"at,omitempty"`
	File  string   `json:"file,omitempty"`
	Text  string   `json:"text,omitempty"`
	Files []string `json:"files,omitempty"`
	Left  string   `json:"left_out,omitempty"`
}

func (q quotedLine) line() string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(q) != nil {
		return "{}" // strings alone: cannot be
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// remarks quotes what people wrote who could have asked for the run themselves: the newest, as far as there is room.
// What others wrote, guests and strangers, other apps, or people who cannot be looked up now, is left out. So is what
// was written to the bot: its runs have read that.
func (s *survey) remarks(ctx context.Context, all []Remark) {
	var lines []string
	readers := s.newReaders()
	readers.lookUpAll(ctx, all[max(0, len(all)-mostRemarks):])
	room, foreign, older := threadBytes, 0, 0
	for i, r := range slices.Backward(all) {
		switch {
		case r.Own || r.ToBot || r.Text == "" && len(r.Files) == 0:
			continue
		case len(lines) == mostRemarks || room <= 0 || s.run.Created.Sub(r.At) > oldestRemark:
			older = i + 1
		}
		if older > 0 {
			break
		}
		name, ok := readers.mayBeRead(ctx, r.By)
		if !ok {
			foreign++
			continue
		}
		q := quotedLine{From: name, At: r.At.UTC().Format(time.RFC3339)}
		q.Text, q.Left = cutBytes(r.Text, min(remarkBytes, room))
		for _, f := range r.Files {
			q.Files = append(q.Files, f.String()+", not read")
		}
		line := q.line()
		room -= len(line)
		lines = append(lines, line)
	}
	slices.Reverse(lines)
	s.lines = append(s.lines, lines...)
	if older > 0 {
		s.gaps = append(s.gaps, "Older messages of the thread were left out.")
	}
	if foreign > 0 {
		s.gaps = append(s.gaps, fmt.Sprintf("Messages of the thread that were left out because of who wrote them "+
			"(apps, guests, or people who may not ask for anything here): %d.", foreign))
	}
}

// authors knows whose words in a place are read.
type authors struct {
	*survey
	g     *gatherer
	may   Approvers
	names map[UserID]string // empty: not to be read
}

func (s *survey) newReaders() *authors {
	a := &authors{survey: s, names: map[UserID]string{}}
	a.g = newGatherer(s.directory, s.policy, s.run.conversation(), noTime)
	if s.requesters != nil {
		a.may = s.requesters(s.run.Workspace)
	}
	return a
}

// lookUpAll asks for what mayBeRead needs to know of those who wrote the remarks, at once.
func (a *authors) lookUpAll(ctx context.Context, remarks []Remark) {
	var people []UserID
	for _, r := range slices.Backward(remarks) {
		if !r.Own && !r.ToBot && r.By.Workspace() == a.run.Workspace && len(people) < mostAuthors {
			people = with(people, r.By)
		}
	}
	a.g.askUntilKnown(ctx, func(open openQuestions) {
		for _, u := range people {
			if who := open.person(u); who == nil || who.Regular {
				open.membership(a.may, u)
			}
		}
	})
}

// mayBeRead reports whether the person could have asked for the run, and what the model knows them as. Whoever cannot
// be looked up may not.
func (a *authors) mayBeRead(ctx context.Context, u UserID) (name string, ok bool) {
	if u == "" || u.Workspace() != a.run.Workspace {
		return "", false
	}
	name, known := a.names[u]
	if !known && len(a.names) < mostAuthors {
		name = a.lookUp(ctx, u)
		a.names[u] = name
	}
	return name, name != ""
}

func (a *authors) lookUp(ctx context.Context, u UserID) string {
	if err := a.g.isRegular(ctx, u); err != nil {
		return ""
	}
	a.g.membership(ctx, a.may, u)
	if ok, err := a.g.in(a.may, u); !ok || err != nil {
		return ""
	}
	who, err := a.g.person(ctx, u)
	switch {
	case err != nil:
		return ""
	case who.Name == "":
		return u.Local()
	}
	return shortened(who.Name, 80) + " (" + u.Local() + ")"
}

// cutBytes cuts text to at most the given number of bytes, and says what was left out.
func cutBytes(text string, most int) (kept, left string) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text, ""
	}
	end := max(most, 0)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end], fmt.Sprintf("%d bytes", len(text)-end)
}

// files quotes the files that the person attached. One that cannot be read is named to the model and the person.
func (s *survey) files(ctx context.Context) error {
	room := filesBytes
	for i, f := range s.run.Files {
		var text string
		err := error(&UnreadableError{Why: "there is no room for more files"})
		if i < mostFiles && room > 0 {
			text, err = s.reader.ReadFile(ctx, s.run.Workspace, f, min(fileBytes, room))
		}
		why, never := errors.AsType[*UnreadableError](err)
		switch {
		case err == nil:
			line := quotedLine{From: s.run.Requester.Local(), File: f.String(), Text: text}.line()
			room -= len(line)
			s.lines = append(s.lines, line)
			continue
		case !never && s.mayWait(err):
			return fmt.Errorf("%w: read a file: %w", ErrUnavailable, err)
		case !never:
			s.log.WarnContext(ctx, "a file was not read", "run", s.run.ID, "error", err)
			why = &UnreadableError{Why: "it could not be fetched"}
		}
		line := quotedLine{From: s.run.Requester.Local(), File: f.String(), Left: "all: " + why.Why}.line()
		s.lines = append(s.lines, line)
		s.unread = append(s.unread, f.String()+", which I cannot read because "+why.Why)
	}
	return nil
}

// String names the file and says how large it is.
func (f File) String() string {
	name := shortened(strings.Join(strings.Fields(f.Name), " "), 100)
	switch {
	case name == "":
		name = "a file without a name"
	case f.Size <= 0:
		return name
	}
	return fmt.Sprintf("%s (%s)", name, bytesText(f.Size))
}

func bytesText(n int64) string {
	switch {
	case n <= 0:
		return "size unknown"
	case n < 1000:
		return fmt.Sprintf("%d bytes", n)
	case n < 1e6:
		return fmt.Sprintf("%d KB", (n+500)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
