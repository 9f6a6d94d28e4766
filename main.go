// Command ypcrawl crawls business directories into a local SQLite file. It can
// be killed at any instant and started again without losing or doubling anything.
package main

import (
	_ "embed"
	"os"

	"ypcrawl/cli"
)

// The schema is at the top of the project, the first thing to read after
// the README; go:embed reaches it only from here.
//
//go:embed schema.sql
var schema string

func main() {
	os.Exit(cli.Standard(schema).Main(os.Args))
}
