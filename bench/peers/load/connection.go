package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http/httputil"
	"os"
	"regexp"
	"strconv"
)

// connection is one client: requests go out whole, answers are read to their end and thrown away.
type connection struct {
	tls    *tls.Conn
	in     *bufio.Reader
	stream io.Reader
}

func dial() (*connection, error) {
	pem, err := os.ReadFile(*caFile)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	c, err := tls.Dial("tcp", *server, &tls.Config{RootCAs: roots, NextProtos: []string{"http/1.1"}})
	if err != nil {
		return nil, err
	}
	return &connection{tls: c, in: bufio.NewReaderSize(c, 64*1024)}, nil
}

func dialAll(count int) ([]*connection, error) {
	out := make([]*connection, count)
	for index := range out {
		c, err := dial()
		if err != nil {
			return nil, err
		}
		out[index] = c
	}
	return out, nil
}

// exchange sends a request and gives the length of the answer's body.
func (c *connection) exchange(request []byte, want int) (int, error) {
	body, err := c.send(request, want)
	if err != nil {
		return 0, err
	}
	length, err := io.Copy(io.Discard, body)
	return int(length), err
}

// begin sends a request whose answer does not end.
func (c *connection) begin(request []byte) error {
	body, err := c.send(request, 200)
	c.stream = body
	return err
}

// events reads a watch until it has seen that many; each is a line.
func (c *connection) events(count int) error {
	buffer := make([]byte, 64*1024)
	for seen := 0; seen < count; {
		length, err := c.stream.Read(buffer)
		seen += bytes.Count(buffer[:length], []byte{'\n'})
		if err != nil && seen < count {
			return fmt.Errorf("a watch ended after %d events: %w", seen, err)
		}
	}
	return nil
}

var resourceVersion = regexp.MustCompile(`"resourceVersion":"(\d+)"`)

// revision is that of a list.
func (c *connection) revision(request []byte) (string, error) {
	body, err := c.send(request, 200)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return "", err
	}
	found := resourceVersion.FindSubmatch(text)
	if found == nil {
		return "", fmt.Errorf("a list without revision: %.200s", text)
	}
	return string(found[1]), nil
}

func (c *connection) send(request []byte, want int) (io.Reader, error) {
	if _, err := c.tls.Write(request); err != nil {
		return nil, err
	}
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	status, _ := strconv.Atoi(string(line[9:12]))
	length := -1
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if name, value, _ := bytes.Cut(line, []byte(":")); len(name) == 14 && bytes.EqualFold(name, []byte("content-length")) {
			length, _ = strconv.Atoi(string(bytes.TrimSpace(value)))
		}
	}
	var body io.Reader
	if length >= 0 {
		body = io.LimitReader(c.in, int64(length))
	} else {
		body = &chunked{in: c.in, decoded: httputil.NewChunkedReader(c.in)}
	}
	if status != want {
		text, _ := io.ReadAll(io.LimitReader(body, 400))
		return nil, fmt.Errorf("status %d: %s", status, text)
	}
	return body, nil
}

// chunked reads past the empty line that ends a body in chunks, so that the next answer begins where it should.
type chunked struct {
	in      *bufio.Reader
	decoded io.Reader
}

func (c *chunked) Read(out []byte) (int, error) {
	length, err := c.decoded.Read(out)
	if err == io.EOF {
		if _, tail := c.in.ReadSlice('\n'); tail != nil {
			return length, tail
		}
	}
	return length, err
}
