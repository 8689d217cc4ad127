package app

import "countersign/bot"

// prompts lists what a new chat proposes: those of the default agent, as the agents file says now. The bot knows the
// one of its start.
func (s *server) prompts(string) []bot.Prompt {
	file := s.live.current.Load().File
	a := file.Agent(file.DefaultAgent)
	if a == nil {
		return nil
	}
	all := make([]bot.Prompt, len(a.Prompts))
	for i, p := range a.Prompts {
		all[i] = bot.Prompt{Title: p.Title, Message: p.Message}
	}
	return all
}
