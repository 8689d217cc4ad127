//go:build bug_m

package plant

const bug = 'm'
