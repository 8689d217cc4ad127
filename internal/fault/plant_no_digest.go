//go:build plant_no_digest

package fault

// NoDigest plants a bug for the suite to find: a decision counts whatever it was shown.
const NoDigest = true
