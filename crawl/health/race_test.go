//go:build race

package health

// scale: the alarm's arithmetic has no goroutines, and the race detector makes it some
// ten times slower; the plain run feeds the full count of pages.
const scale = 20
