package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// partReconciler keeps a ConfigMap and a status for each Part, in the way that the book of Kubebuilder shows.
type partReconciler struct {
	client.Client
	scheme *runtime.Scheme
	count  atomic.Int64
	lastAt atomic.Int64
}

func (r *partReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	defer func() {
		r.lastAt.Store(monotonicNs())
		r.count.Add(1)
	}()
	var part Part
	if err := r.Get(ctx, request.NamespacedName, &part); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	size := strconv.FormatInt(part.Spec.Size, 10)
	child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: part.Namespace, Name: part.Name}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, child, func() error {
		child.Data = map[string]string{"size": size}
		return controllerutil.SetControllerReference(&part, child, r.scheme)
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	before := part.DeepCopy()
	part.Status.Size = part.Spec.Size
	part.Status.ObservedGeneration = part.Generation
	meta.SetStatusCondition(&part.Status.Conditions, metav1.Condition{
		Type: "Ready", Status: metav1.ConditionTrue, Reason: "Ready", Message: "is as its spec says",
		ObservedGeneration: part.Generation,
	})
	if equality.Semantic.DeepEqual(before.Status, part.Status) {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, r.Status().Update(ctx, &part)
}

// runManager runs a manager in a namespace and does what it is told on standard input: `start`, and `again` for a look
// at every object. After each it tells how many reconciles that took, once none has come for a while.
func runManager(config *rest.Config, args []string) error {
	namespace := args[0]
	objects, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return err
	}
	scheme := newScheme()
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                  scheme,
		Metrics:                 metricsserver.Options{BindAddress: "127.0.0.1:0"},
		HealthProbeBindAddress:  "127.0.0.1:0",
		LeaderElection:          true,
		LeaderElectionID:        "parts",
		LeaderElectionNamespace: namespace,
		Cache:                   cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
	})
	if err != nil {
		return err
	}
	again := make(chan event.GenericEvent, objects)
	reconciler := &partReconciler{Client: manager.GetClient(), scheme: scheme}
	err = ctrl.NewControllerManagedBy(manager).
		Named("parts").
		For(&Part{}).
		Owns(&corev1.ConfigMap{}).
		WatchesRawSource(source.Channel(again, &handler.EnqueueRequestForObject{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: 16}).
		Complete(reconciler)
	if err != nil {
		return err
	}
	ctx := context.Background()
	fmt.Println("ready")
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() {
		before, began := reconciler.count.Load(), monotonicNs()
		switch commands.Text() {
		case "start":
			go func() {
				if err := manager.Start(ctx); err != nil {
					fatal(err)
				}
			}()
		case "again":
			var parts PartList
			if err := manager.GetClient().List(ctx, &parts); err != nil {
				return err
			}
			for index := range parts.Items {
				again <- event.GenericEvent{Object: &parts.Items[index]}
			}
		}
		for {
			idle := time.Duration(monotonicNs() - reconciler.lastAt.Load())
			if reconciler.count.Load()-before >= objects && idle > 500*time.Millisecond {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		report(map[string]any{
			"reconciles": reconciler.count.Load() - before,
			"ms":         float64(reconciler.lastAt.Load()-began) / 1e6,
		})
	}
	return nil
}
