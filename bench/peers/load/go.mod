module keelson.dev/bench/load

go 1.25
