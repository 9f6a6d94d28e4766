package cli

import (
	"context"
	"errors"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// asProgram, set in the environment, makes the test binary act as the test app
// instead: a shell under test can call it.
const asProgram = "TEST_YPCRAWL_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		goleak.VerifyTestMain(m)
		return
	}
	app := completingApp()
	app.Writer = os.Stdout
	args, err := Prepare(app, append([]string{"ypcrawl"}, os.Args[1:]...))
	if err == nil {
		err = app.RunContext(context.Background(), args)
	}
	if err != nil {
		os.Exit(1)
	}
}

// isUsage tells whether err is a mistake in how the program was called.
func isUsage(err error) bool { return errors.As(err, new(*UsageError)) }
