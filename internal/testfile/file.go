package testfile

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"

	"countersign/internal/agentsfile"
)

// File is a valid file of tests: a workspace, what stands for the services that agents call, and the tests, each of
// which has all of it to itself.
type File struct {
	At      agentsfile.Position
	Version int    `key:"version,need"`
	Agents  string `key:"agents,need"` // path of the agents file, as seen from the folder of this file
	// Env is the environment of the bot. ${servers.NAME} is a server's address, ${dir} the folder that agents work in,
	// ${program} this program.
	Env      map[string]string  `key:"env"`
	Files    map[string]string  `key:"files"` // in the folder that agents work in, by path
	People   map[string]Person  `key:"people,need"`
	Groups   map[string]Group   `key:"groups"`
	Channels map[string]Channel `key:"channels,need"`
	Servers  map[string]Server  `key:"servers"`
	Tests    []Test             `key:"tests,need"`

	Path string // of this file
}

// AgentsPath is where the agents file is.
func (f *File) AgentsPath() string {
	if filepath.IsAbs(f.Agents) {
		return f.Agents
	}
	return filepath.Join(filepath.Dir(f.Path), filepath.FromSlash(f.Agents))
}

// Person is somebody in the workspace.
type Person struct {
	At   agentsfile.Position
	ID   string `key:"id"`   // as the agents file names them; made from the name when left out
	Name string `key:"name"` // as Slack shows it
	Role string `key:"role"` // one of Roles; empty: member
}

// Roles are what a person may be.
var Roles = []string{"member", "admin", "guest", "single_channel_guest", "deactivated", "stranger", "bot"}

// Group is a user group.
type Group struct {
	At      agentsfile.Position
	ID      string   `key:"id"`
	Members []string `key:"members,need"`
}

// Channel is a channel that the bot is a member of.
type Channel struct {
	At      agentsfile.Position
	ID      string   `key:"id"`
	Members []string `key:"members,need"`
	Private bool     `key:"private"`
	Shared  bool     `key:"shared"` // with another workspace
}

// Server stands for a service that http tools call.
type Server struct {
	At agentsfile.Position
	// Replaces are beginnings of URLs in the agents file for which the server's address is put in.
	Replaces []string `key:"replaces"`
	Routes   []Route  `key:"routes"`
}

// Route is a request that a server answers.
type Route struct {
	At agentsfile.Position
	// Request is method, path and query: POST /transfer.
	Request string `key:"request,need"`
	Status  int    `key:"status"` // 200 when left out
	// JSON and Text are the body of the answer, one or neither of them.
	JSON json.RawMessage `key:"json"`
	Text *string         `key:"text"`
	// AnyTimes makes it a request that no step has to expect.
	AnyTimes bool `key:"any_times"`
}

// Test is one story, played in a workspace of its own with a bot of its own.
type Test struct {
	At    agentsfile.Position
	Name  string   `key:"name,need"`
	Model []Script `key:"model"`
	Steps []Step   `key:"steps,need"`
	// LeftWaiting are the cards that nobody has decided when the test ends.
	LeftWaiting []string `key:"left_waiting"`
}

// Script is what the model says in conversations whose newest message of a person holds When.
type Script struct {
	At    agentsfile.Position
	When  string `key:"when,need"`
	Turns []Turn `key:"turns,need"`
}

// Turn is one answer of the model: the first to the message itself, each further one to the outputs of calls.
type Turn struct {
	At agentsfile.Position
	// Reads are texts that the outputs of the calls of the turn before must hold.
	Reads []string `key:"reads"`
	Says  string   `key:"says"`
	Calls []Call   `key:"calls"`
}

// Call is a call of a tool that the model makes.
type Call struct {
	At   agentsfile.Position
	Tool string          `key:"tool,need"`
	Args json.RawMessage `key:"args"`
}

// Read reads the file at path. A file that cannot be used is an agentsfile.Problems.
func Read(path string) (*File, error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("test file: %w", err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("test file: %w", err)
	}
	return Parse(path, data)
}

// Parse reads the file's bytes; path is what problems call it.
func Parse(path string, data []byte) (*File, error) {
	v, err := agentsfile.ParseYAML(path, data)
	if err != nil {
		return nil, err
	}
	d, f := &decoder{}, &File{Path: path}
	d.decode(v, reflect.ValueOf(f).Elem(), "the test file")
	if len(d.problems) == 0 {
		d.check(f)
	}
	if len(d.problems) > 0 {
		return nil, d.problems.Sorted()
	}
	return f, nil
}
