package region

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
)

func TestAppendShown(t *testing.T) {
	for page, want := range map[string]string{
		`a <b style="display:none">x</b>`:                                                            "a",
		`a <b style="color: red; DISPLAY : None !important">x</b>`:                                   "a",
		`a <b style="display:none;display:block">x</b>`:                                              "a x",
		`a <b style="display:none!important;display:block">x</b>`:                                    "a",
		`a <b style="visibility:hidden">x</b>`:                                                       "a",
		`a <b style="Visibility:Hidden; width:1px">x</b>`:                                            "a",
		`a <b hidden>x</b>`:                                                                          "a",
		`a <b hidden=""><i>x</i></b> c`:                                                              "a  c",
		`a <b aria-hidden="true">x</b>`:                                                              "a x",
		`a <b style="display:inline-none">x</b>`:                                                     "a x",
		`a <b style="background:url(display:none)">x</b>`:                                            "a x",
		`a <b class="hidden" data-hidden style="">x</b>`:                                             "a x",
		`<span class="__cf_email__" data-cfemail="2a6c435e6a1f1a">[email&#160;protected]</span> Gym`: "Fit@50 Gym",
		`<a data-cfemail="2a6c435e6a1f1a"><b>[email]</b></a>`:                                        "Fit@50",
		`<a data-cfemail="zz">Joe</a>`:                                                               "Joe",
		`<a data-cfemail="">Joe</a>`:                                                                 "Joe",
		`<a data-cfemail="` + strings.Repeat("2a", 5000) + `">Joe</a>`:                               "Joe",
	} {
		doc, err := html.Parse(strings.NewReader("<body>" + page))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(string(AppendShown(nil, doc, 1000))); got != want {
			t.Errorf("%s: got %q, want %q", page, got, want)
		}
	}
}
