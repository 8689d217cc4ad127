package app

// Installs reports whether the app is one that people install in several workspaces, rather than the one of
// SLACK_BOT_TOKEN.
func (c *Config) Installs() bool { return c.ClientID != "" || c.ClientSecret.IsSet() }

// neededForInstalls are the variables that several workspaces need and that are not set.
func (c *Config) neededForInstalls() []need {
	const of = "several workspaces need it: "
	var all []need
	for _, v := range []struct {
		need
		set bool
	}{
		{need{"SLACK_CLIENT_ID", of + "it is on the app's page Basic Information"}, c.ClientID != ""},
		{need{"SLACK_CLIENT_SECRET", of + "it is on the app's page Basic Information"}, c.ClientSecret.IsSet()},
		{need{"COUNTERSIGN_PUBLIC_URL", of + "people install the app there"}, c.PublicURL != ""},
		{need{"COUNTERSIGN_ENCRYPTION_KEYS", of + "the store holds the bot token of each, and never in the clear"},
			c.EncryptionKeys.IsSet()},
	} {
		if !v.set {
			all = append(all, v.need)
		}
	}
	return all
}

// checkInstalls judges what does not go together with several workspaces.
func (c *Config) checkInstalls(p *problems) {
	if !c.Installs() {
		return
	}
	if c.SlackMode == modeSocket {
		p.add("SLACK_CLIENT_ID and SLACK_CLIENT_SECRET are for several workspaces, which need " +
			"COUNTERSIGN_SLACK_MODE=http; set that, or unset them")
	}
	if c.BotToken.IsSet() {
		p.add("SLACK_BOT_TOKEN is set, and SLACK_CLIENT_ID or SLACK_CLIENT_SECRET too: of several workspaces each " +
			"has a token of its own; unset SLACK_BOT_TOKEN, or the others for one workspace")
	}
	if c.checkpointChannel() != "" {
		p.add("COUNTERSIGN_AUDIT_CHECKPOINTS names a channel, and in several workspaces it is not known of which; " +
			"name a folder")
	}
}
