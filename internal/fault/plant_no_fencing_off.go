//go:build !plant_no_fencing

package fault

// NoFencing plants a bug for the suite to find: a worker that lost its lease may still write.
const NoFencing = false
