// Command load drives an API server with as little work of its own as possible, so that what is measured is the server.
//
// It speaks HTTP/1.1 over TLS on connections of its own, one per client, and looks at no more of an answer than its
// status and its length. One line of JSON says what was found.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

var (
	server    = flag.String("server", "", "host:port")
	token     = flag.String("token", "", "bearer token")
	caFile    = flag.String("ca", "", "authority of the server's certificate, PEM")
	clients   = flag.Int("clients", 8, "connections that send at the same time")
	count     = flag.Int("count", 2000, "requests in all")
	from      = flag.Int("from", 0, "number of the first object")
	prefix    = flag.String("prefix", "c", "names are PREFIX-NUMBER")
	namespace = flag.String("namespace", "bench", "where the objects are")
	objects   = flag.Int("objects", 1000, "how many there are to get")
	watchers  = flag.Int("watchers", 100, "connections that watch")
	gzip      = flag.Bool("gzip", false, "accept compressed answers, as Go clients do")
)

func main() {
	flag.Parse()
	maps := "/api/v1/namespaces/" + *namespace + "/configmaps"
	name := func(index int) string { return fmt.Sprintf("%s-%d", *prefix, *from+index) }
	create := func(index int) []byte { return request("POST", maps, configMap(name(index))) }
	get := func(index int) []byte { return request("GET", maps+"/"+name(index%*objects), nil) }
	remove := func(index int) []byte { return request("DELETE", maps+"/"+name(index), nil) }
	list := request("GET", maps, nil)
	var result map[string]any
	var err error
	switch flag.Arg(0) {
	case "create":
		result, err = run(*clients, *count, 201, create)
	case "get":
		result, err = run(*clients, *count, 200, get)
	case "delete":
		result, err = run(*clients, *count, 200, remove)
	case "list":
		result, err = run(*clients, *count, 200, func(int) []byte { return list })
	case "fanout":
		result, err = fanOut(maps, create)
	default:
		err = fmt.Errorf("no such load: %q", flag.Arg(0))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(result)
}

// run sends count requests from width connections and gives how many were answered per second.
func run(width, count, want int, make func(int) []byte) (map[string]any, error) {
	connections, err := dialAll(width)
	if err != nil {
		return nil, err
	}
	requests := prepare(count, make)
	var next, received atomic.Int64
	began := time.Now()
	err = together(width, func(worker int) error {
		c := connections[worker]
		for index := int(next.Add(1)) - 1; index < count; index = int(next.Add(1)) - 1 {
			length, err := c.exchange(requests[index], want)
			if err != nil {
				return err
			}
			received.Add(int64(length))
		}
		return nil
	})
	seconds := time.Since(began).Seconds()
	return map[string]any{"perSecond": float64(count) / seconds, "bytes": received.Load()}, err
}

// fanOut opens the watchers, then creates objects, and gives how many events per second reached all of them.
func fanOut(maps string, create func(int) []byte) (map[string]any, error) {
	reader, err := dial()
	if err != nil {
		return nil, err
	}
	revision, err := reader.revision(request("GET", maps+"?limit=1", nil))
	if err != nil {
		return nil, err
	}
	open, err := dialAll(*watchers)
	if err != nil {
		return nil, err
	}
	target := maps + "?watch=1&allowWatchBookmarks=false&resourceVersion=" + revision
	for _, c := range open {
		if err := c.begin(request("GET", target, nil)); err != nil {
			return nil, err
		}
	}
	writers, err := dialAll(*clients)
	if err != nil {
		return nil, err
	}
	requests := prepare(*count, create)
	var next atomic.Int64
	began := time.Now()
	err = together(*watchers+*clients, func(worker int) error {
		if worker < *watchers {
			return open[worker].events(*count)
		}
		c := writers[worker-*watchers]
		for index := int(next.Add(1)) - 1; index < *count; index = int(next.Add(1)) - 1 {
			if _, err := c.exchange(requests[index], 201); err != nil {
				return err
			}
		}
		return nil
	})
	seconds := time.Since(began).Seconds()
	return map[string]any{"perSecond": float64(*count**watchers) / seconds}, err
}

func prepare(count int, make func(int) []byte) [][]byte {
	out := [][]byte{}
	for index := range count {
		out = append(out, make(index))
	}
	return out
}

func together(width int, work func(int) error) error {
	var group sync.WaitGroup
	failures := make(chan error, width)
	for worker := range width {
		group.Go(func() {
			if err := work(worker); err != nil {
				failures <- err
			}
		})
	}
	group.Wait()
	close(failures)
	return <-failures
}

func configMap(name string) []byte {
	text := strings.Repeat("x", 1000)
	return fmt.Appendf(nil,
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":%q,"labels":{"bench":"yes"}},"data":{"text":%q}}`,
		name, *namespace, text)
}

func request(method, target string, body []byte) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n", method, target, *server, *token)
	out.WriteString("Accept: application/json\r\nUser-Agent: load/1\r\n")
	if *gzip {
		out.WriteString("Accept-Encoding: gzip\r\n")
	}
	if body != nil {
		fmt.Fprintf(&out, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	out.WriteString("\r\n")
	out.Write(body)
	return out.Bytes()
}
