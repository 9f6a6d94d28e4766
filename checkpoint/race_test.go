//go:build race

package checkpoint_test

// propertyChecks is how many random histories a property is tried with: SQLite is ten
// times as slow under the race detector.
const propertyChecks = "25"
