package export

import "os"

// hold does nothing: Windows removes no file that is open.
func hold(*os.File) error { return nil }
