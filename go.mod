module github.com/tombolo-sync/tombolo

go 1.26.0
