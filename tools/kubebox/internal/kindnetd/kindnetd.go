// Package kindnetd is the network of a small cluster whose nodes share one link: each node has a range of addresses
// for its pods, and every other node has a route to it. It runs on each node and follows the list of nodes.
package kindnetd

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

const retryInterval = 10 * time.Second

// Main runs until SIGINT or SIGTERM. Environment: NODE_NAME, POD_SUBNET (of all pods), CONTROL_PLANE_ENDPOINT
// (host:port, used because Services do not work yet when the first pods start).
func Main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		klog.ErrorS(err, "kindnetd ends")
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	config, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	if endpoint := os.Getenv("CONTROL_PLANE_ENDPOINT"); endpoint != "" {
		config.Host = "https://" + endpoint
	}
	_, podSubnet, err := net.ParseCIDR(os.Getenv("POD_SUBNET"))
	if err != nil {
		return fmt.Errorf("POD_SUBNET: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}

	factory := informers.NewSharedInformerFactory(client, 0)
	changed := make(chan struct{}, 1)
	notify := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	if _, err := factory.Core().V1().Nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { notify() },
		UpdateFunc: func(any, any) { notify() },
		DeleteFunc: func(any) { notify() },
	}); err != nil {
		return err
	}
	nodes := factory.Core().V1().Nodes().Lister()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())

	network := newNetwork(os.Getenv("NODE_NAME"), podSubnet)
	for {
		if err := reconcile(network, nodes); err != nil {
			klog.ErrorS(err, "cannot set up the network; trying again", "after", retryInterval)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-time.After(retryInterval):
		}
	}
}

func reconcile(network *network, lister corelisters.NodeLister) error {
	nodes, err := lister.List(labels.Everything())
	if err != nil {
		return err
	}
	peers := make(map[string]net.IP, len(nodes))
	own := ""
	for _, node := range nodes {
		if node.Spec.PodCIDR == "" {
			continue
		}
		if node.Name == network.nodeName {
			own = node.Spec.PodCIDR
		} else if address := internalAddress(node); address != nil {
			peers[node.Spec.PodCIDR] = address
		}
	}
	return network.apply(own, peers)
}

func internalAddress(node *corev1.Node) net.IP {
	for _, address := range node.Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			return net.ParseIP(address.Address).To4()
		}
	}
	return nil
}
