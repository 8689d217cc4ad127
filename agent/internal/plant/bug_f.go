//go:build bug_f

package plant

const bug = 'f'
