package bot

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
)

// manifest is the part of Slack's manifest schema that the file uses. Decoding is strict: another key is an error.
type manifest struct {
	Metadata struct {
		Major int `yaml:"major_version"`
		Minor int `yaml:"minor_version"`
	} `yaml:"_metadata"`
	Display struct {
		Name        string `yaml:"name"`
		Description string `yaml:"description"`
		Background  string `yaml:"background_color"`
	} `yaml:"display_information"`
	Features struct {
		Home struct {
			Home     bool `yaml:"home_tab_enabled"`
			Messages bool `yaml:"messages_tab_enabled"`
			ReadOnly bool `yaml:"messages_tab_read_only_enabled"`
		} `yaml:"app_home"`
		Agent struct {
			Description string `yaml:"agent_description"`
		} `yaml:"agent_view"`
		Bot struct {
			Name   string `yaml:"display_name"`
			Online bool   `yaml:"always_online"`
		} `yaml:"bot_user"`
		Commands []struct {
			Command     string `yaml:"command"`
			Description string `yaml:"description"`
			Hint        string `yaml:"usage_hint"`
			Escape      bool   `yaml:"should_escape"`
			URL         string `yaml:"url"`
		} `yaml:"slash_commands"`
		Shortcuts []struct {
			Name        string `yaml:"name"`
			Type        string `yaml:"type"`
			Callback    string `yaml:"callback_id"`
			Description string `yaml:"description"`
		} `yaml:"shortcuts"`
	} `yaml:"features"`
	OAuth struct {
		Scopes struct {
			Bot      []string `yaml:"bot"`
			Optional []string `yaml:"bot_optional"`
		} `yaml:"scopes"`
	} `yaml:"oauth_config"`
	Settings struct {
		Events struct {
			URL string   `yaml:"request_url"`
			Bot []string `yaml:"bot_events"`
		} `yaml:"event_subscriptions"`
		Interactivity struct {
			Enabled bool   `yaml:"is_enabled"`
			URL     string `yaml:"request_url"`
		} `yaml:"interactivity"`
		Org      bool `yaml:"org_deploy_enabled"`
		Socket   bool `yaml:"socket_mode_enabled"`
		Rotation bool `yaml:"token_rotation_enabled"`
	} `yaml:"settings"`
}

var commentedHTTP = regexp.MustCompile(`(?m)^(\s*)# (.*) # http$`)

// manifests returns the file's Socket form as it stands and its HTTP form made as the file's comments say.
func manifests(t *testing.T) map[Mode]manifest {
	t.Helper()
	raw, err := os.ReadFile("../manifest.yaml")
	if err != nil {
		t.Fatal(err)
	}
	overHTTP := commentedHTTP.ReplaceAllString(string(raw), "$1$2")
	overHTTP = strings.Replace(overHTTP, "socket_mode_enabled: true # http: false", "socket_mode_enabled: false", 1)
	out := map[Mode]manifest{}
	for mode, text := range map[Mode]string{ModeSocket: string(raw), ModeHTTP: overHTTP} {
		var m manifest
		if err := yaml.NewDecoder(strings.NewReader(text), yaml.Strict()).Decode(&m); err != nil {
			t.Fatalf("%s form: %v", mode, err)
		}
		out[mode] = m
	}
	return out
}

// problems lists what Slack would refuse.
func (m manifest) problems(mode Mode) []string {
	var bad []string
	check := func(ok bool, what string) {
		if !ok {
			bad = append(bad, what)
		}
	}
	within := func(s string, most int) bool { return s != "" && len(s) <= most }
	address := func(s, path string) bool {
		if mode == ModeSocket {
			return s == ""
		}
		return strings.HasPrefix(s, "https://") && strings.HasSuffix(s, path)
	}
	check(m.Metadata.Major == 2, "metadata: major_version")
	check(within(m.Display.Name, 35), "display_information: name")
	check(within(m.Display.Description, 140), "display_information: description")
	color := regexp.MustCompile(`^#[0-9a-f]{6}$`)
	check(color.MatchString(m.Display.Background), "display_information: background_color")
	check(within(m.Features.Bot.Name, 80), "bot_user: display_name")
	check(within(m.Features.Agent.Description, 300), "agent_view: agent_description")
	for _, c := range m.Features.Commands {
		check(within(c.Command, 32) && strings.HasPrefix(c.Command, "/"), "slash_commands: command")
		check(within(c.Description, 2000) && within(c.Hint, 1000), "slash_commands: description or usage_hint")
		check(address(c.URL, PathCommands), "slash_commands: url")
	}
	for _, s := range m.Features.Shortcuts {
		check(within(s.Name, 24) && within(s.Callback, 255) && within(s.Description, 150),
			"shortcuts: name, callback_id or description")
		check(s.Type == "global" || s.Type == "message", "shortcuts: type")
	}
	check(address(m.Settings.Events.URL, PathEvents), "event_subscriptions: request_url")
	check(address(m.Settings.Interactivity.URL, PathInteractions), "interactivity: request_url")
	check(m.Settings.Interactivity.Enabled, "interactivity: is_enabled")
	check(m.Settings.Socket == (mode == ModeSocket), "socket_mode_enabled")
	return bad
}

func TestManifestIsValidInBothForms(t *testing.T) {
	t.Parallel()
	for mode, m := range manifests(t) {
		if bad := m.problems(mode); bad != nil {
			t.Errorf("%s form: %v", mode, bad)
		}
	}
	// Controls: what must be refused.
	for name, spoil := range map[string]func(*manifest){
		"a command without a slash": func(m *manifest) { m.Features.Commands[0].Command = "approvals" },
		"a long name":               func(m *manifest) { m.Display.Name = strings.Repeat("x", 36) },
		"an unknown shortcut type":  func(m *manifest) { m.Features.Shortcuts[0].Type = "globe" },
	} {
		m := manifests(t)[ModeSocket]
		spoil(&m)
		if m.problems(ModeSocket) == nil {
			t.Errorf("%s was not refused", name)
		}
	}
}

func TestManifestAsksForExactlyWhatIsUsed(t *testing.T) {
	t.Parallel()
	for mode, m := range manifests(t) {
		if diff := cmp.Diff(neededScopes(), slices.Sorted(slices.Values(m.OAuth.Scopes.Bot))); diff != "" {
			t.Errorf("%s form: scopes (-in use +manifest):\n%s", mode, diff)
		}
		if diff := cmp.Diff(optionalScopes, m.OAuth.Scopes.Optional); diff != "" {
			t.Errorf("%s form: optional scopes (-in use +manifest):\n%s", mode, diff)
		}
		inUse, listed := slices.Sorted(maps.Keys(eventScopes)), slices.Sorted(slices.Values(m.Settings.Events.Bot))
		if diff := cmp.Diff(inUse, listed); diff != "" {
			t.Errorf("%s form: events (-in use +manifest):\n%s", mode, diff)
		}
		if len(m.Features.Commands) != 1 || m.Features.Commands[0].Command != slashCommand {
			t.Errorf("%s form: commands %v", mode, m.Features.Commands)
		}
		if len(m.Features.Shortcuts) != 1 || m.Features.Shortcuts[0].Callback != shortcutPending {
			t.Errorf("%s form: shortcuts %v", mode, m.Features.Shortcuts)
		}
	}
}

// methodOf maps slack-go's functions to Slack's methods.
var methodOf = map[string]string{
	"OpenViewContext": methodOpenView, "UpdateViewContext": methodUpdateView, "PushViewContext": methodPushView,
	"OpenConversationContext": methodOpenDM,
}

// TestMethodTableIsComplete reads the package's source: every call of slack-go and every method constant in a call of
// our own must be in methodScopes, every event in a case of decodeEvent in eventScopes, and the other way round.
func TestMethodTableIsComplete(t *testing.T) {
	t.Parallel()
	used, events := map[string]bool{}, map[string]bool{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{
		"methodAuthTest": methodAuthTest, "methodTeams": methodTeams, "methodOpenSocket": methodOpenSocket,
		"methodReplies": methodReplies, "methodHistory": methodHistory,
		"methodPost": methodPost, "methodUpdate": methodUpdate, "methodEphemeral": methodEphemeral,
		"methodUserInfo": methodUserInfo, "methodUsers": methodUsers, "methodGroupUsers": methodGroupUsers,
		"methodMembers": methodMembers, "methodPlaces": methodPlaces,
		"methodThreadStatus": methodThreadStatus, "methodSessionStatus": methodSessionStatus,
		"methodStartStream": methodStartStream, "methodAppendStream": methodAppendStream,
		"methodStopStream": methodStopStream,
		"methodGroups":     methodGroups, "methodPrompts": methodPrompts, "methodTitle": methodTitle,
		"methodChannelInfo": methodChannelInfo,
		"methodReact":       methodReact, "methodUnreact": methodUnreact,
		"methodOAuthAccess": methodOAuthAccess,
		"methodPermalink":   methodPermalink, "methodPublishView": methodPublishView,
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || name == "scopes.go" {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				inner, ok := n.X.(*ast.SelectorExpr)
				if ok && inner.Sel.Name == "api" && strings.HasSuffix(n.Sel.Name, "Context") {
					method, known := methodOf[n.Sel.Name]
					if !known {
						t.Errorf("%s calls %s, which has no entry in this test", name, n.Sel.Name)
					}
					used[method] = true
				}
			case *ast.Ident:
				if method, ok := names[n.Name]; ok {
					used[method] = true
				}
			case *ast.FuncDecl:
				if n.Name.Name == "decodeEvent" {
					eventCases(n, events)
				}
			}
			return true
		})
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(methodScopes)), slices.Sorted(maps.Keys(used))); diff != "" {
		t.Errorf("methods (-table +code):\n%s", diff)
	}
	if used["chat.delete"] {
		t.Error("messages are deleted: what was decided has to stay readable")
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(eventScopes)), slices.Sorted(maps.Keys(events))); diff != "" {
		t.Errorf("events (-table +code):\n%s", diff)
	}
}

// eventCases collects the event types that the function handles.
func eventCases(fn *ast.FuncDecl, events map[string]bool) {
	ast.Inspect(fn, func(n ast.Node) bool {
		clause, ok := n.(*ast.CaseClause)
		if !ok {
			return true
		}
		for _, e := range clause.List {
			if lit, ok := e.(*ast.BasicLit); ok {
				event := strings.Trim(lit.Value, `"`)
				if event == "message" { // subscribed to by the kinds of conversation
					events["message.im"], events["message.mpim"] = true, true
					continue
				}
				events[event] = true
			}
		}
		return true
	})
}
