package yp

import (
	"fmt"
	"math"
	"testing"
)

func TestRating(t *testing.T) {
	for in, want := range map[string]float64{
		"4.7": 4.7, "4,7": 4.7, "4.8": 4.8, "4.70": 4.7, "4.666666": 4.67, "4.125": 4.13, "5": 5, "5.0": 5, "0.5": 0.5, "4.7 out of 5": 4.7, "4,7 out of 5": 4.7, "4.7/5": 4.7, "4.7 / 5": 4.7,
		"4,7 von 5 Sternen": 4.7, "4,7 sur 5": 4.7, "4,7 de 5": 4.7, "4,7 su 5": 4.7, "4.7 of 5 stars": 4.7, "4.7 stars out of 5": 4.7, "4.7 stars": 4.7, "4 stars": 4, "1 star": 1,
		"Rated 4.7": 4.7, "Rating: 4.7": 4.7, "Rating:4,7": 4.7, "Rated 4.7 out of 5": 4.7, "Rated 4.7 out of 5 (123 reviews)": 4.7, "★ 4.7": 4.7, "★4.7": 4.7, "4.7★": 4.7, "4.7 ★★★★☆": 4.7, "4.7 ⭐": 4.7,
		"(4.7)": 4.7, "4.7 (123)": 4.7, "4 (123)": 4, "4.7 123 reviews": 4.7, "4.7 · 123": 4.7, "4.7 | 123": 4.7, "4.7, 12 reviews": 4.7, "4.7 - Excellent": 4.7, "Rated 4.7.": 4.7,
		"4.7 based on 12 reviews": 4.7, "9.2/10": 4.6, "9,2 / 10": 4.6, "9.2 out of 10": 4.6, "92%": 4.6, "92 %": 4.6, "width: 92%;": 4.6, "width:94.5%": 4.73, "8/10 stars": 4, "3/4": 3.75,
		"4½": 4.5, "4 ½ stars": 4.5, "4 1/2": 4.5, "４．７": 4.7, "４，７": 4.7, "٤٫٥": 4.5, "4.7\u00a0von\u00a05": 4.7,
		"result-rating four half": 4.5, "col-2 result-rating three": 3, "rating-45 two": 2,
		"4 reviews": 0, "Based on 4 reviews": 0, "4 123": 0, "4-5": 0, "4 - 5": 0, "4:30": 0, "4/5/2024": 0, "4.7.2024": 0, "12/10/2024": 0, "4.7 km": 0, "4 of 123": 0, "4 of 12": 0, "rating-45": 0, "stars-4-5": 0,
		"4px": 0, "75px": 0, "$4": 0, "Rated 4.7 by five people": 4.7, "4 by five people": 4, "Top 10 plumber 4.7": 0, "5.1": 0, "6": 0, "47": 0, "10": 0, "11/10": 0, "101%": 0, "0/5": 0, "0%": 0, "-1": 0, "NaN": 0, "Inf": 0,
		"17/20": 4.25, "85/100": 4.25, "4.7/5.0": 4.7, "Customers gave it 4.7 out of 5 stars": 4.7, "Rated 4.7 out of 5 based on 12 reviews": 4.7, "4★/10": 2, "8 stars out of 10": 4, "4 ★ / 10": 2, "4.7 (out of 5)": 4.7,
		"8 (of 10)": 4, "4.5 (of 5 stars)": 4.5, "4.5/5 on Google": 4.5, "4 on Google": 0, "4.7/5 (120 reviews)": 4.7, "4.7/5 – 120 Bewertungen": 4.7, "4/5 12 reviews": 4, "4.7 star rating": 4.7, "4.7 out of 5.0 stars": 4.7, "average rating is 3.5": 3.5, "has a rating of 4": 4, "Average rating: 4.7": 4.7,
		"4,7 · 120 Bewertungen": 4.7, "4.7 (1.2K reviews)": 4.7, "★★★★☆ 4.2": 4.2, "4-star": 4, "4, 12 reviews": 4, "92% (123)": 4.6, "Rated 92%": 4.6, "five stars": 5, "four half": 4.5, "stars four clearfix": 4, "[4.7]": 4.7,
		// what may be something else
		"out of 5": 0, "Rated out of 5": 0, "two of three": 0, "four out of five": 0, "four of ten": 0, "two reviews": 0, "Rated by two people": 0, "open two hours": 0, "3 of 4 people found this helpful": 0,
		"4 out of 5 dentists recommend it": 0, "3 of 4 123 reviews": 0, "20% off": 0, "20%-off": 0, "Save 20%": 0, "20% discount": 0, "height: 92%": 0, "max-width: 92%": 0, "Top 4": 0, "No. 4": 0, "No.: 4": 0, "№ 4": 0, "№4": 0, "# 4": 0,
		"Top 4.5": 0, "Reviews: 4": 0, "Page 4 of 5": 0, "Best rating: 5": 0, "max rating 5": 0, "4.7 (best: 10)": 0, "4 (max 10)": 0, "4 [max. 10]": 0, "4 (scale 1-10)": 0, "4 (1 to 10)": 0, "4 stars (scale: x/10)": 0, "4 stars, that is of 10": 0,
		"4.7 out of five": 0, "4 (out of ten)": 0, "4 - max. 10": 0, "€4": 0, "4 €": 0, "$ 4": 0, "4°": 0, "4 👍": 0, "4. Acme": 0, "4) Acme": 0, "4-year warranty": 0, "4, Main St": 0, "3.2 ½": 0, "Version 4.7": 0, "100 of 120 reviews": 0,
		"0.4": 0, "4٣": 0, "": 0, "no rating": 0, "4..7": 0,
	} {
		if got := Rating(in); got != want {
			t.Errorf("%q: got %v, want %v", in, got, want)
		}
	}
	for _, c := range []struct {
		in   string
		best float64
		want float64
	}{
		{"9.2", 10, 4.6},
		{"9,2 (12)", 10, 4.6},
		{"4.7 out of 5", 10, 4.7},
		{"92", 100, 4.6},
		{"92%", 10, 4.6},
		{"11", 10, 0},
		{"0.9", 1, 4.5},
		{"four", 10, 4},
		{"four half", 10, 4.5},
		{"9.2 stars", 10, 4.6},
		{"4", 0, 0},
		{"4", -5, 0},
		{"4", math.Inf(1), 0},
		{"4", math.NaN(), 0},
		{"0.5", 10, 0},
	} {
		if got := RatingOf(c.in, c.best); got != c.want {
			t.Errorf("%q of %v: got %v, want %v", c.in, c.best, got, c.want)
		}
	}
}

func FuzzRating(f *testing.F) {
	for _, s := range []string{"4.7", "4,7 von 5", "9.2/10", "92%", "4 1/2", "result-rating four half", "4.7 (123)", "٤٫٥", "1e400", "0x1p-2", "4/5/2024", "\xff4.7★"} {
		f.Add(s, 5.0)
	}
	f.Fuzz(func(t *testing.T, s string, best float64) {
		r := RatingOf(s, best)
		if r != 0 && !(r >= 0.5 && r <= 5) || r != math.Round(r*100)/100 {
			t.Fatalf("RatingOf(%q, %v) = %v", s, best, r)
		}
		if again := Rating(fmt.Sprint(r)); again != r {
			t.Errorf("%v is read as %v", r, again)
		}
	})
}
