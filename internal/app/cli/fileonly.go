package cli

import (
	"fmt"

	"countersign/internal/app"
	"countersign/internal/control"
)

// fileOnly refuses what is done with the store's file where the store is a database, and says what does it there.
func fileOnly(cfg *app.Config, command, instead string) error {
	if !cfg.StorePlace().Shared() {
		return nil
	}
	return app.Misconfigured(fmt.Errorf("%s: %w; %s", command, control.ErrFileOnly, instead))
}

// What does the work of the commands in a database.
const (
	insteadOfBackup = "copy it with the database's tools, also while the bot runs: pg_dump --schema=NAME for one " +
		"moment, a base backup and the write-ahead log for any"
	insteadOfRestore = "stop all replicas and put a copy back with the database's tools: pg_restore for one of " +
		"pg_dump; a file that backup has made is brought in by: countersign migrate bolt:FILE postgres://…"
	insteadOfCompact = "it gives the space of deleted records back by itself (autovacuum), and VACUUM FULL returns " +
		"it to the system; to encrypt it, or to replace a key, copy it into a new schema: countersign migrate"
)
