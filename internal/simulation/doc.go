// Package simulation is a test: it plays whole conversations of people with two replicas of the bot in virtual time,
// while a seeded scheduler drops, repeats, delays and reorders what passes between them and Slack, kills and freezes
// replicas, sets clocks, and has the store, Slack and the model fail. Afterwards internal/invariant judges what is
// left.
//
// Service, worker and bot are the real ones, and so is Slack as far as internal/slackdev goes; the network between them
// and the store are in memory, and the model plays a part. Families of files: world, replica, wire, people, simulation.
package simulation
