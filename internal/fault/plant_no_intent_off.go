//go:build !plant_no_intent

package fault

// NoIntent plants a bug for the suite to find: the journal forgets that an effect was begun.
const NoIntent = false
