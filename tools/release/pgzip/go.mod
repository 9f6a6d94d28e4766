module github.com/klauspost/pgzip

go 1.26.8
