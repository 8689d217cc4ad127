package app

import (
	"os"

	"countersign/internal/agentsfile"
	"countersign/internal/catalog"
)

// LoadCatalog reads the agents file and makes it ready.
func LoadCatalog(cfg *Config, c catalog.Config) (*catalog.Catalog, error) {
	file, err := agentsfile.Read(cfg.Agents, os.LookupEnv)
	if err != nil {
		return nil, Misconfigured(explainFile(err))
	}
	made, err := catalog.Build(file, c)
	return made, Misconfigured(err)
}
