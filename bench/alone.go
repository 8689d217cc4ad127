package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"countersign/agent/openaimodel"
)

// The contenders that are built into this program, by the name that alone knows them by.
const (
	ourCycle     = "cycle"      // the library, Responses
	ourChatCycle = "cycle-chat" // the library, Chat Completions
	floorCycle   = "cycle-floor"
	ourPlain     = "plain"
	ourChatPlain = "plain-chat"
	sdkPlain     = "plain-sdk"
	floorPlain   = "plain-floor"
)

// alone measures one contender and prints its figures. The arguments are its name, the model's URL, for a cycle a
// scratch folder, the number of jobs and how many of them are under way at once.
func alone(ctx context.Context, args []string) error {
	if len(args) < 4 {
		return errors.New("usage: bench alone CONTENDER URL [DIR] TOTAL WIDTH")
	}
	total, err := strconv.Atoi(args[len(args)-2])
	if err != nil {
		return err
	}
	width, err := strconv.Atoi(args[len(args)-1])
	if err != nil {
		return err
	}
	url, dir := args[1], args[2]
	var rig interface {
		job(ctx context.Context, i int) error
		effectCount() int
		close() error
	}
	var name string
	switch args[0] {
	case ourCycle:
		name = "countersign"
		rig, err = newCycleRig(url, openaimodel.Responses, filepath.Join(dir, "cycle.db"))
	case ourChatCycle:
		name = "countersign, Chat Completions"
		rig, err = newCycleRig(url, openaimodel.ChatCompletions, filepath.Join(dir, "cycle.db"))
	case floorCycle:
		name = "floor, by hand"
		rig, err = newFloorRig(url, filepath.Join(dir, "floor.db"), width)
	case ourPlain:
		name = "countersign"
		rig, err = newPlainRig(url, openaimodel.Responses)
	case ourChatPlain:
		name = "countersign, Chat Completions"
		rig, err = newPlainRig(url, openaimodel.ChatCompletions)
	case sdkPlain:
		name = "loop over openai-go"
		rig = newSDKRig(url)
	case floorPlain:
		name = "floor, by hand"
		rig = &plainFloor{floorModel: newFloorModel(url)}
	default:
		return fmt.Errorf("unknown contender %q", args[0])
	}
	if err != nil {
		return err
	}
	f, err := measure(ctx, name, total, width, rig.job)
	if err = errors.Join(err, rig.close()); err != nil {
		return err
	}
	if n, want := rig.effectCount(), total+min(2*width, 64); n != want {
		return fmt.Errorf("%s: %d effects, want %d with the warm-up", name, n, want)
	}
	return json.NewEncoder(os.Stdout).Encode(f)
}

// builtIn is a contender of this program.
func builtIn(name, url string, total int, dir bool) (contender, error) {
	self, err := os.Executable()
	return contender{command: []string{self, "alone", name, url}, dir: dir, total: total}, err
}
