//go:build !race

package store_test

const propertyChecks = "100"
