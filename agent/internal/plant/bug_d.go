//go:build bug_d

package plant

const bug = 'd'
