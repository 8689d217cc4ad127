package agent

// safely calls the application's code and turns a panic into errPanic. The panic's value is dropped: it may hold
// arguments.
func safely(fn func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = errPanic
		}
	}()
	return fn()
}
