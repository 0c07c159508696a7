// What controller-runtime costs where Keelson's bench measures Keelson: a cache that is filled, a change on its way to a
// reconcile, and a manager that writes a child and a status for each object.
package main

import (
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

func main() {
	ctrl.SetLogger(zap.New(zap.WriteTo(discard{})))
	if len(os.Args) < 3 {
		fatal(fmt.Errorf("usage: %s sync|latency|manager KUBECONFIG …", os.Args[0]))
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[2])
	if err != nil {
		fatal(err)
	}
	// Neither side of a comparison waits for a limit of its own.
	config.QPS = -1
	switch os.Args[1] {
	case "sync":
		err = measureSync(config, os.Args[3:])
	case "latency":
		err = measureLatency(config, os.Args[3:])
	case "manager":
		err = runManager(config, os.Args[3:])
	default:
		err = fmt.Errorf("there is no %q", os.Args[1])
	}
	if err != nil {
		fatal(err)
	}
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	addToScheme(scheme)
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		fatal(err)
	}
	return scheme
}

type discard struct{}

func (discard) Write(bytes []byte) (int, error) { return len(bytes), nil }

func fatal(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

