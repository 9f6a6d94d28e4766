package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"

	"ypcrawl/yp"
)

// barFixed is what the library puts around the bar: "%4d% |" and "|  " + " ".
const barFixed = 10

const (
	barMin = 10 // columns of the bar itself
	barMax = 40
)

// frame draws the bar and what stands behind it, at most width-1 columns wide:
// a terminal wraps a full line, and a wrapped line can't be taken away. The
// library draws one frame and is thrown away, for it keeps a rate of its own
// that a resumed crawl would falsify, and can't go back from 100 %.
func frame(s Snapshot, width int) string {
	text := fit(details(s), width-1-barFixed-barMin)
	size := min(max(width-1-barFixed-utf8.RuneCountInString(text), barMin), barMax)
	done, total := s.phase()
	if total == 0 { // nothing to do is all done; the library refuses a total of 0
		total, done = 1, 1
	}
	bar := progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(io.Discard),
		progressbar.OptionSetWidth(size),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionShowDescriptionAtLineEnd(),
		progressbar.OptionSetDescription(text),
	)
	err := bar.Set64(done)
	if err == nil && bar.String() == "" { // 0 % is drawn on demand only
		err = bar.RenderBlank()
	}
	if err != nil { // io.Discard never fails and done <= total
		return text
	}
	return strings.TrimRight(cut(strings.Trim(bar.String(), "\r"), width-1), " ")
}

// detail is one part of the text behind the bar. Where room is short, those of
// the highest rank go first.
type detail struct {
	rank int
	text string
}

func details(s Snapshot) []detail {
	targets := fmt.Sprintf("%s/%s targets", thousands(s.finished()), thousands(s.TargetsTotal))
	own := fmt.Sprintf("%s/%s details", thousands(s.Details), thousands(s.DetailsTotal))
	speed := detail{4, fmt.Sprintf("%.1f %s", s.Rate, speedUnit(s.Details+s.DetailsTotal > 0))}
	list, eta := []detail{
		{0, targets}, {3, plural(s.PagesDone, "page")}, {5, plural(s.Listings, "listing")}, {7, plural(s.Companies, "company")}, speed,
	}, "ETA "
	switch {
	case s.fetchesDetails():
		list = []detail{{0, own}, speed}
		if s.TargetsTotal > 0 {
			list = append(list, detail{5, targets})
		}
	case s.Details+s.DetailsTotal > 0:
		list, eta = slices.Insert(list, 1, detail{2, own}), "targets' ETA "
	}
	if s.TargetsFailed > 0 {
		list = slices.Insert(list, 1, detail{6, thousands(s.TargetsFailed) + " failed"})
	}
	if left := s.eta(); left != "" {
		list = append(list, detail{1, eta + left})
	}
	if s.Waiting != "" { // until when is worth more room than why
		when, why, _ := strings.Cut("waiting "+yp.Printable(s.Waiting), ": ")
		if list = append(list, detail{1, when}); why != "" {
			list = append(list, detail{2, why})
		}
	}
	return list
}

// speedUnit names what a run's speed counts.
func speedUnit(withDetails bool) string {
	if withDetails {
		return "pages and details/s"
	}
	return "pages/s"
}

// fit joins the details, leaving out the least important until they fit.
func fit(list []detail, width int) string {
	for len(list) > 1 && joinedWidth(list) > width {
		worst := 0
		for i, d := range list {
			if d.rank >= list[worst].rank {
				worst = i
			}
		}
		list = slices.Delete(list, worst, worst+1)
	}
	texts := make([]string, len(list))
	for i, d := range list {
		texts[i] = d.text
	}
	return strings.Join(texts, separator)
}

const separator = " · "

func joinedWidth(list []detail) int {
	n := utf8.RuneCountInString(separator) * (len(list) - 1)
	for _, d := range list {
		n += utf8.RuneCountInString(d.text)
	}
	return n
}

// cut shortens s to width columns.
func cut(s string, width int) string {
	for utf8.RuneCountInString(s) > max(width, 0) {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return s
}
