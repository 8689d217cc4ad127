package agent_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"countersign/agent"
)

// TestEmptyRunState calls every method of states that nobody made: each returns an error or nothing, and none panics.
func TestEmptyRunState(t *testing.T) {
	t.Parallel()
	for _, s := range []*agent.RunState{nil, {}} {
		v := reflect.ValueOf(s)
		called := 0
		for i := range v.NumMethod() {
			name, method := v.Type().Method(i).Name, v.Method(i)
			var args []reflect.Value
			for k := range method.Type().NumIn() {
				if method.Type().IsVariadic() && k == method.Type().NumIn()-1 {
					break
				}
				args = append(args, reflect.Zero(method.Type().In(k)))
			}
			results := func() []reflect.Value {
				defer func() {
					if p := recover(); p != nil {
						t.Errorf("%s of %v panics: %v", name, s, p)
					}
				}()
				return method.Call(args)
			}()
			called++
			var err error
			for k, result := range results {
				switch {
				case result.Type() == reflect.TypeFor[error]():
					err, _ = result.Interface().(error)
					if err == nil {
						t.Errorf("%s of %v: no error", name, s)
					}
				case name == "Clone" && s != nil:
				case !result.IsZero():
					t.Errorf("%s of %v: result %d is %v", name, s, k, result)
				}
			}
			if err != nil && !errors.Is(err, agent.ErrConfig) && !errors.Is(err, agent.ErrUnknownInterruption) {
				t.Errorf("%s of %v: %v", name, s, err)
			}
		}
		if called < 20 {
			t.Errorf("only %d methods", called)
		}
		_, err := new(agent.Runner).Resume(t.Context(), corpusAgent(), s.Clone(), agent.RunOptions{})
		if !errors.Is(err, agent.ErrConfig) {
			t.Errorf("resumed: %v", err)
		}
	}
	if _, err := json.Marshal(struct{ State *agent.RunState }{new(agent.RunState)}); !errors.Is(err, agent.ErrConfig) {
		t.Errorf("written: %v", err)
	}
}
