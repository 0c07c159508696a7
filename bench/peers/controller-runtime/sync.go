package main

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// measureSync fills a typed cache of Items, without managed fields, and reads each object once.
func measureSync(config *rest.Config, args []string) error {
	ctx := context.Background()
	before := inUse()
	end := measure()
	informers, err := cache.New(config, cache.Options{
		Scheme:           newScheme(),
		DefaultTransform: cache.TransformStripManagedFields(),
	})
	if err != nil {
		return err
	}
	go func() {
		if err := informers.Start(ctx); err != nil {
			fatal(err)
		}
	}()
	if _, err := informers.GetInformer(ctx, &Item{}); err != nil {
		return err
	}
	if !informers.WaitForCacheSync(ctx) {
		return fmt.Errorf("the cache did not fill")
	}
	sync := end()
	peak := peakRssMb()
	retained := inUse() - before
	end = measure()
	var items ItemList
	if err := informers.List(ctx, &items); err != nil {
		return err
	}
	if expected := args[2]; fmt.Sprint(len(items.Items)) != expected {
		return fmt.Errorf("expected %s objects, got %d", expected, len(items.Items))
	}
	var sum int64
	for index := range items.Items {
		sum += items.Items[index].Spec.Replicas
	}
	read := end()
	report(map[string]any{
		"sync": sync, "peakRssMb": peak, "retained": retained, "read": read, "retainedAfterRead": retained, "sum": sum,
	})
	return nil
}
