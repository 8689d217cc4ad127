//go:build bug_e

package plant

const bug = 'e'
