package app

import "countersign/bot"

// prompts lists what a new chat with the agent proposes, as the agents file says now.
func (s *server) prompts(agent string) []bot.Prompt {
	a := s.live.current.Load().File.Agent(agent)
	if a == nil {
		return nil
	}
	all := make([]bot.Prompt, len(a.Prompts))
	for i, p := range a.Prompts {
		all[i] = bot.Prompt{Title: p.Title, Message: p.Message}
	}
	return all
}
