package app_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"countersign/internal/faultfs"
	"countersign/internal/slackdev"
)

// disk mounts a disk that can fail, and returns COUNTERSIGN_STORE for it. Where that cannot be done the test is
// skipped, unless it is required.
func disk(t *testing.T) (fs *faultfs.FS, variable string) {
	t.Helper()
	fileOnly(t, "it lies on a disk of the test's own")
	dir := t.TempDir()
	fs, err := faultfs.Mount(dir)
	if err != nil {
		if faultfs.Required(*long) {
			t.Fatalf("it takes root and /dev/fuse: %v", err)
		}
		t.Skipf("SKIPPED, power cuts and full disks are not tested here: %v", err)
	}
	t.Cleanup(func() {
		if err := fs.Unmount(); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return fs, "COUNTERSIGN_STORE=bolt:" + filepath.Join(dir, "countersign.db")
}

// TestProgramLosesPower cuts the power of the program's disk while people ask and answer. Of what was not synced
// nothing is left, or each sector with probability one half. Another start goes on with what is left.
func TestProgramLosesPower(t *testing.T) {
	t.Parallel()
	rounds := uint64(3)
	if *long {
		rounds = 30
	}
	for seed := range rounds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			fs, variable := disk(t)
			k, random := newKilling(t, approving), rand.New(rand.NewPCG(seed, 3))
			bot := k.spawn(binary(t), k.env(variable), "run")
			bot.says("msg=ready")
			gone := k.meddle(bot)
			// What is tested is the moment itself, so there is no condition to wait for.
			<-time.After(time.Duration(random.IntN(120)) * time.Millisecond)
			var torn *rand.Rand
			if seed%2 == 1 {
				torn = random
			}
			left := fs.Cut("countersign.db", torn)
			bot.kill()
			<-gone
			k.write("countersign.db", string(left))
			k.goOn()
		})
	}
}

// TestProgramOnAFullDisk: while the disk of its store is full the program takes no answer, posts nothing twice, and
// stays up. When it has room again everything goes on by itself.
func TestProgramOnAFullDisk(t *testing.T) {
	t.Parallel()
	fs, variable := disk(t)
	w := newWorld(t, settings{hazards: true, slack: slackdev.Config{AckTimeout: 3 * time.Second}})
	bot := w.spawn(binary(t), w.env(variable), "run")
	bot.says("msg=ready")
	thread := w.mention("pay 5")
	card := w.card(thread, 1)
	fs.Fail(func(op faultfs.Op, _ int) syscall.Errno {
		if op == faultfs.Write {
			return syscall.ENOSPC
		}
		return 0
	})
	if err := w.click(ben, card, "approve"); !errors.Is(err, slackdev.ErrTrouble) {
		t.Errorf("a click with a full disk: %v", err)
	}
	w.noEffect()
	fs.Fail(func(faultfs.Op, int) syscall.Errno { return 0 })
	w.press(card)
	w.answer(thread, "answer:")
	w.oneOfEach(thread, 1)
	w.onlyEffect(`{"amount":5,"memo":"` + secretMemo + `","to":"acct"}`)
	if code := bot.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	left, err := os.ReadFile(strings.TrimPrefix(variable, "COUNTERSIGN_STORE=bolt:"))
	if err != nil {
		t.Fatal(err)
	}
	w.write("countersign.db", string(left))
	w.judged(w.start())
}
