package app

import (
	"os"

	"countersign/internal/agentsfile"
	"countersign/internal/catalog"
)

// ReadAgents reads the agents file at path; lookup finds environment variables.
func ReadAgents(path string, lookup func(string) (string, bool)) (*agentsfile.File, error) {
	file, err := agentsfile.Read(path, lookup)
	return file, Misconfigured(explainFile(err))
}

// LoadCatalog reads the agents file and makes it ready.
func LoadCatalog(cfg *Config, c catalog.Config) (*catalog.Catalog, error) {
	file, err := ReadAgents(cfg.Agents, os.LookupEnv)
	if err != nil {
		return nil, err
	}
	made, err := catalog.Build(file, c)
	return made, Misconfigured(err)
}
