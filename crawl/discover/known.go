package discover

import "slices"

// KnownCategories lists the categories that are taken without asking, by name.
func KnownCategories() []string { return slices.Clone(known[:]) }
