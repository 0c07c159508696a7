package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

type cost struct {
	Ms    float64 `json:"ms"`
	CPUMs float64 `json:"cpuMs"`
}

// measure begins to measure; the returned function ends it.
func measure() func() cost {
	began, cpu := time.Now(), cpuMs()
	return func() cost {
		return cost{Ms: float64(time.Since(began).Microseconds()) / 1e3, CPUMs: cpuMs() - cpu}
	}
}

// cpuMs is the CPU of this process since it started.
func cpuMs() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		fatal(err)
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e6
}

// inUse is what is reachable after a collection, in bytes.
func inUse() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func peakRssMb() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		fatal(err)
	}
	found := regexp.MustCompile(`VmHWM:\s+(\d+)`).FindSubmatch(status)
	kilobytes, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		fatal(err)
	}
	return kilobytes / 1024
}

// monotonicNs is the clock that changes are stamped with.
func monotonicNs() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		fatal(err)
	}
	return now.Nano()
}

// report prints the figures as one line of JSON.
func report(figures any) {
	line, err := json.Marshal(figures)
	if err != nil {
		fatal(err)
	}
	fmt.Println(string(line))
}
