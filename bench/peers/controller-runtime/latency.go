package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sort"
	"strconv"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const sentAt = "bench.keelson.dev/sent-at"

// latencies notes how long each change took to arrive.
type latencies struct {
	mutex   sync.Mutex
	seenMs  []float64
	last    time.Time
	looks   int
	control string
	rate    string
}

func (l *latencies) see(item *Item) {
	sent, err := strconv.ParseInt(item.Annotations[sentAt], 10, 64)
	now := monotonicNs()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.looks++
	l.last = time.Now()
	if err == nil {
		l.seenMs = append(l.seenMs, float64(now-sent)/1e6)
	}
}

func (l *latencies) state() (seen int, looks int, idle time.Duration) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return len(l.seenMs), l.looks, time.Since(l.last)
}

// ask has `count` changes made, and returns when all were seen or none came for two seconds.
func (l *latencies) ask(count int) {
	l.mutex.Lock()
	l.seenMs, l.last = nil, time.Now()
	l.mutex.Unlock()
	go func() {
		response, err := http.Get(fmt.Sprintf("%s/events?count=%d&rate=%s", l.control, count, l.rate))
		if err != nil {
			fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
	}()
	for {
		seen, _, idle := l.state()
		if seen >= count || idle > 2*time.Second {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

type itemReconciler struct {
	client.Client
	taken *latencies
}

func (r *itemReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var item Item
	if err := r.Get(ctx, request.NamespacedName, &item); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	r.taken.see(&item)
	return ctrl.Result{}, nil
}

// measureLatency measures the way of a change from the server to the reconcile of its key.
func measureLatency(config *rest.Config, args []string) error {
	count, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	events, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	taken := &latencies{rate: args[4], control: args[5], last: time.Now()}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  newScheme(),
		Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:   cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
	})
	if err != nil {
		return err
	}
	reconciler := &itemReconciler{Client: manager.GetClient(), taken: taken}
	if err := ctrl.NewControllerManagedBy(manager).Named("items").For(&Item{}).Complete(reconciler); err != nil {
		return err
	}
	go func() {
		if err := manager.Start(context.Background()); err != nil {
			fatal(err)
		}
	}()
	// The first reconcile of every object must be over.
	for {
		if _, looks, idle := taken.state(); looks >= count && idle > 500*time.Millisecond {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	time.Sleep(time.Second)
	taken.ask((events + 1) / 2)
	cpu := cpuMs()
	taken.ask(events)
	spent := cpuMs() - cpu
	sort.Float64s(taken.seenMs)
	at := func(share float64) float64 {
		return taken.seenMs[min(len(taken.seenMs)-1, int(float64(len(taken.seenMs))*share))]
	}
	report(map[string]any{
		"seen": len(taken.seenMs), "p50Ms": at(0.5), "p99Ms": at(0.99),
		"cpuUsPerEvent": spent * 1000 / float64(len(taken.seenMs)),
	})
	return nil
}
