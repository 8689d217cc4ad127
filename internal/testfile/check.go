package testfile

import (
	"encoding/json"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"countersign/internal/agentsfile"
)

var (
	nameForm     = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,31}$`)
	variableForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	placeholder  = regexp.MustCompile(`\$\{([^}]*)\}`)
	methods      = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}
)

// badName is what is wrong with a name.
const badName = "%q is no name: use 1 to 32 letters, digits, underscores and hyphens, a letter first"

// reserved begin the names of variables that the test sets itself.
var reserved = []string{"SLACK_", "COUNTERSIGN_", "OPENAI_", "OTEL_"}

// check judges what decoding does not see, and fills in ids.
func (d *decoder) check(f *File) {
	if f.Version != 1 {
		d.problem(f.At, "version %d is not supported; this program reads version 1", f.Version)
	}
	d.checkWorkspace(f)
	d.checkEnv(f)
	for path := range f.Files {
		if !filepath.IsLocal(filepath.FromSlash(path)) {
			d.problem(f.At, "files: %q is not a path below the folder that agents work in", path)
		}
	}
	for name, s := range f.Servers {
		d.checkServer(name, s)
	}
	if len(f.Tests) == 0 {
		d.problem(f.At, "tests is empty: a file without a test shows nothing")
	}
	var names []string
	for i := range f.Tests {
		if t := &f.Tests[i]; slices.Contains(names, t.Name) {
			d.problem(t.At, "a test called %q is there already", t.Name)
		}
		names = append(names, f.Tests[i].Name)
		d.checkTest(f, &f.Tests[i])
	}
}

// idOf makes an id of a name, so that "ann" is U0ANN.
func idOf(given, prefix, name string) string {
	if given != "" {
		return given
	}
	clean := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' {
			return -1
		}
		return r
	}, name)
	return prefix + strings.ToUpper(clean)
}

func (d *decoder) checkWorkspace(f *File) {
	ids := map[string]string{"U0BOT": "the bot"}
	id := func(at agentsfile.Position, name, id, letters string) {
		if !nameForm.MatchString(name) {
			d.problem(at, badName, name)
		}
		if len(id) < 3 || !strings.Contains(letters, id[:1]) ||
			strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != "" {
			d.problem(at, "id of %s: %q is not as Slack's: %s0123456789", name, id, letters[:1])
		}
		if other, twice := ids[id]; twice {
			d.problem(at, "%s has the id %s, which is that of %s", name, id, other)
		}
		ids[id] = name
	}
	for _, name := range slices.Sorted(maps.Keys(f.People)) {
		p := f.People[name]
		p.ID = idOf(p.ID, "U0", name)
		id(p.At, name, p.ID, "UW")
		d.oneOf(p.At, "role", p.Role, Roles)
		f.People[name] = p
	}
	for _, name := range slices.Sorted(maps.Keys(f.Groups)) {
		g := f.Groups[name]
		g.ID = idOf(g.ID, "S0", name)
		id(g.At, name, g.ID, "S")
		d.members(f, g.At, g.Members)
		f.Groups[name] = g
	}
	for _, name := range slices.Sorted(maps.Keys(f.Channels)) {
		c := f.Channels[name]
		c.ID = idOf(c.ID, "C0", name)
		id(c.At, name, c.ID, "CG")
		d.members(f, c.At, c.Members)
		f.Channels[name] = c
	}
}

func (d *decoder) members(f *File, at agentsfile.Position, members []string) {
	for _, m := range members {
		d.known(at, "person", m, keysOf(f.People))
	}
}

func keysOf[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// known notes a name that nothing has.
func (d *decoder) known(at agentsfile.Position, what, name string, names []string) bool {
	if slices.Contains(names, name) {
		return true
	}
	if near := agentsfile.Nearest(name, names); near != "" {
		d.problem(at, "there is no %s %q here; did you mean %q?", what, name, near)
	} else if len(names) == 0 {
		d.problem(at, "there is no %s %q here, and no other", what, name)
	} else {
		d.problem(at, "there is no %s %q here; there is %s", what, name, strings.Join(names, ", "))
	}
	return false
}

// oneOf notes a word that is none of those allowed; empty is always allowed.
func (d *decoder) oneOf(at agentsfile.Position, key, word string, words []string) {
	if word == "" || slices.Contains(words, word) {
		return
	}
	if near := agentsfile.Nearest(word, words); near != "" {
		d.problem(at, "%s: %q is none of %s; did you mean %q?", key, word, strings.Join(words, ", "), near)
		return
	}
	d.problem(at, "%s: %q is none of %s", key, word, strings.Join(words, ", "))
}

func (d *decoder) checkEnv(f *File) {
	allowed := []string{"dir", "program"}
	for name := range f.Servers {
		allowed = append(allowed, "servers."+name)
	}
	slices.Sort(allowed)
	for _, name := range keysOf(f.Env) {
		if !variableForm.MatchString(name) {
			d.problem(f.At, "env: %q is no name of an environment variable", name)
		}
		if slices.ContainsFunc(reserved, func(p string) bool { return strings.HasPrefix(name, p) }) {
			d.problem(f.At, "env: %s is set by the test itself; leave it out", name)
		}
		for _, m := range placeholder.FindAllStringSubmatch(f.Env[name], -1) {
			d.known(f.At, "value", m[1], allowed)
		}
	}
}

func (d *decoder) checkServer(name string, s Server) {
	if !nameForm.MatchString(name) {
		d.problem(s.At, badName, name)
	}
	for _, r := range s.Replaces {
		u, err := url.Parse(r)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" {
			d.problem(s.At, "replaces: %q is not the beginning of a URL, such as https://payments.example", r)
		}
	}
	for i, r := range s.Routes {
		d.checkRequest(r.At, r.Request)
		d.checkAnswer(r.At, r.Status, r.JSON, r.Text)
		for _, before := range s.Routes[:i] {
			if before.Canonical() == r.Canonical() {
				d.problem(r.At, "%s is answered by the route on line %d already", r.Request, before.At.Line)
			}
		}
	}
}

func (d *decoder) checkAnswer(at agentsfile.Position, status int, body json.RawMessage, text *string) {
	if body != nil && text != nil {
		d.problem(at, "a request is answered with json or with text, not both")
	}
	if status != 0 && (status < 200 || status > 599) {
		d.problem(at, "status is between 200 and 599, not %d", status)
	}
}

// Canonical is the request with the parameters of its query in the order of their names.
func Canonical(request string) string {
	target, query, ok := strings.Cut(request, "?")
	values, err := url.ParseQuery(query)
	if !ok || err != nil {
		return request
	}
	return target + "?" + values.Encode()
}

// Canonical is the route's request in the form of the function Canonical.
func (r *Route) Canonical() string { return Canonical(r.Request) }

// checkRequest wants a method, a path, and maybe a query.
func (d *decoder) checkRequest(at agentsfile.Position, request string) {
	method, target, ok := strings.Cut(request, " ")
	u, err := url.Parse(target)
	if !ok || err != nil || !slices.Contains(methods, method) || !strings.HasPrefix(target, "/") || u.Host != "" {
		d.problem(at, "%q is no request: write method, path and query, such as GET /invoice?number=1042", request)
	}
}

func (d *decoder) checkTest(f *File, t *Test) {
	if strings.TrimSpace(t.Name) == "" {
		d.problem(t.At, "a test needs a name")
	}
	if len(t.Steps) == 0 {
		d.problem(t.At, "the test %q has no steps: it cannot fail", t.Name)
	}
	for i, s := range t.Model {
		for _, before := range t.Model[:i] {
			if before.When == s.When {
				d.problem(s.At, "what the model says to %q is on line %d already", s.When, before.At.Line)
			}
		}
		d.checkScript(s)
	}
	c := &stepChecker{decoder: d, file: f}
	for i := range t.Steps {
		c.step(&t.Steps[i])
	}
	for _, name := range t.LeftWaiting {
		d.known(t.At, "card", name, c.cards)
	}
}

func (d *decoder) checkScript(s Script) {
	if strings.TrimSpace(s.When) == "" {
		d.problem(s.At, "when holds words of what a person writes")
	}
	for i, turn := range s.Turns {
		last := i == len(s.Turns)-1
		switch {
		case turn.Says == "" && len(turn.Calls) == 0:
			d.problem(turn.At, "a turn says something or makes calls")
		case last && len(turn.Calls) > 0 && turn.Says != "":
			// A model may do both; the conversation then goes on.
		case !last && len(turn.Calls) == 0:
			d.problem(turn.At, "a turn without calls is the last one: nothing answers it")
		}
		if i == 0 && len(turn.Reads) > 0 {
			d.problem(turn.At, "the first turn reads no outputs: there was no call before it")
		}
		for _, call := range turn.Calls {
			var args map[string]json.RawMessage
			if call.Args != nil && json.Unmarshal(call.Args, &args) != nil {
				d.problem(call.At, "args of %s is a mapping", call.Tool)
			}
		}
	}
}
