package app

import (
	"os"

	"countersign/internal/agentsfile"
	"countersign/internal/catalog"
)

// UseAgents has another agents file read than COUNTERSIGN_AGENTS names.
func (c *Config) UseAgents(path string) { c.Agents, c.agentsGiven = path, true }

// ReadAgents reads the agents file; lookup finds environment variables.
func (c *Config) ReadAgents(lookup func(string) (string, bool)) (*agentsfile.File, error) {
	file, err := agentsfile.Read(c.Agents, lookup)
	return file, Misconfigured(explainFile(err, c.agentsGiven))
}

// LoadCatalog reads the agents file and makes it ready.
func LoadCatalog(cfg *Config, c catalog.Config) (*catalog.Catalog, error) {
	file, err := cfg.ReadAgents(os.LookupEnv)
	if err != nil {
		return nil, err
	}
	made, err := catalog.Build(file, c)
	return made, Misconfigured(err)
}
