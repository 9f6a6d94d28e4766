//go:build !race

package checkpoint_test

const propertyChecks = "100"
