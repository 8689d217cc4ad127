package check

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

// load reads the compose file as `docker compose config` does, in a copy with the files that people put beside it.
func load(t *testing.T, environment types.Mapping) (*types.Project, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../compose")); err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("../compose/countersign.env.example")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "countersign.env"), example, 0o600)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "countersign.yaml"), []byte("version: 1\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir:  dir,
		ConfigFiles: []types.ConfigFile{{Filename: filepath.Join(dir, "compose.yaml")}},
		Environment: environment,
	}, loader.WithProfiles([]string{"observe"}))
}

// TestCompose reads the compose file whole: three replicas, none of which begins before the database answers.
func TestCompose(t *testing.T) {
	project, err := load(t, types.Mapping{"POSTGRES_PASSWORD": "canary"})
	if err != nil {
		t.Fatal(err)
	}
	bot := project.Services["countersign"]
	if bot.Deploy == nil || bot.Deploy.Replicas == nil || *bot.Deploy.Replicas != 3 {
		t.Error("there are not three replicas")
	}
	if bot.DependsOn["postgres"].Condition != types.ServiceConditionHealthy {
		t.Error("the bot does not wait for the database")
	}
	store := *bot.Environment["COUNTERSIGN_STORE"]
	if !strings.HasPrefix(store, "postgres://countersign:canary@postgres:5432/") {
		t.Errorf("the store is %q", store)
	}
	if len(bot.Ports) != 0 {
		t.Error("ports of three replicas on one machine cannot be published")
	}
	for name, service := range project.Services {
		for _, port := range service.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s is open to the network", name)
			}
		}
	}
}

// TestComposeWithoutPassword says what is missing instead of starting a database without one.
func TestComposeWithoutPassword(t *testing.T) {
	_, err := load(t, types.Mapping{})
	if err == nil || !strings.Contains(err.Error(), "POSTGRES_PASSWORD") {
		t.Errorf("%v, want a word about POSTGRES_PASSWORD", err)
	}
}
