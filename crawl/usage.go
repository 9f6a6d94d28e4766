package crawl

import "ypcrawl/checkpoint"

// usage is what the process uses of its machine now.
func usage() checkpoint.Usage {
	return checkpoint.Usage{Memory: residentBytes(), CPU: processorTime()}
}
