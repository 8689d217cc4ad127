package agent

// Agent is a configured model with instructions and tools. It is read-only while runs use it; one Agent may serve
// many runs at once.
type Agent struct {
	// Name identifies the agent in states, interruptions and logs. It must not be empty, and unique in a graph of
	// agents: a saved state finds its agent by name.
	Name string
	// Instructions are sent to the model as the system prompt of each turn.
	Instructions string
	// Model answers the turns. It must not be nil.
	Model Model
	// Tools are what the model may call. Names must be unique.
	Tools []Tool
	// Settings are passed to the model as they are.
	Settings ModelSettings
}
