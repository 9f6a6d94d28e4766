package discover

// Known lists the categories that are taken without asking.
func Known() []string { return known[:] }
