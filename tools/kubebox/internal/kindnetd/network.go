package kindnetd

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/vishvananda/netlink"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/util/iptables"
)

const (
	confList    = "/etc/cni/net.d/10-kindnet.conflist"
	confListFmt = `{
  "cniVersion": "0.3.1",
  "name": "kindnet",
  "plugins": [
    {
      "type": "ptp",
      "ipMasq": false,
      "ipam": {
        "type": "host-local",
        "dataDir": "/run/cni-ipam-state",
        "routes": [{"dst": "0.0.0.0/0"}],
        "ranges": [[{"subnet": %q}]]
      }
    },
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
`
)

// network is what one node knows of the pods' network, and how it last set it up.
type network struct {
	nodeName  string
	podSubnet *net.IPNet
	iptables  iptables.Interface
	routes    map[string]net.IP
}

func newNetwork(nodeName string, podSubnet *net.IPNet) *network {
	return &network{
		nodeName:  nodeName,
		podSubnet: podSubnet,
		iptables:  iptables.New(iptables.ProtocolIPv4),
		routes:    map[string]net.IP{},
	}
}

// apply gives the node's own pods addresses of ownCIDR (nothing yet when that is empty) and routes to the pods of its
// peers, keyed by their range. It may be called again at any time: a peer that came back has a new address.
func (n *network) apply(ownCIDR string, peers map[string]net.IP) error {
	var failures []error
	for cidr, gateway := range peers {
		if gateway.Equal(n.routes[cidr]) {
			continue
		}
		route, err := routeTo(cidr, gateway)
		if err == nil {
			err = netlink.RouteReplace(route)
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("route to %s through %s: %w", cidr, gateway, err))
			continue
		}
		klog.InfoS("route", "pods", cidr, "node", gateway)
		n.routes[cidr] = gateway
	}
	for cidr, gateway := range n.routes {
		if _, ok := peers[cidr]; ok {
			continue
		}
		if route, err := routeTo(cidr, gateway); err == nil {
			_ = netlink.RouteDel(route)
		}
		delete(n.routes, cidr)
	}
	if err := n.masquerade(); err != nil {
		failures = append(failures, err)
	}
	if err := n.announce(ownCIDR); err != nil {
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// masquerade lets pods reach what is outside the cluster under their node's address.
func (n *network) masquerade() error {
	subnet := n.podSubnet.String()
	_, err := n.iptables.EnsureRule(iptables.Append, iptables.TableNAT, iptables.ChainPostrouting,
		"-s", subnet, "!", "-d", subnet, "-m", "comment", "--comment", "kindnetd: pods to outside", "-j", "MASQUERADE")
	return err
}

// announce writes the file that makes the node Ready, last of all.
func (n *network) announce(ownCIDR string) error {
	if ownCIDR == "" {
		return nil
	}
	content := fmt.Appendf(nil, confListFmt, ownCIDR)
	if present, err := os.ReadFile(confList); err == nil && bytes.Equal(present, content) {
		return nil
	}
	temporary := confList + ".new"
	if err := os.WriteFile(temporary, content, 0o644); err != nil {
		return err
	}
	return os.Rename(temporary, confList)
}

func routeTo(cidr string, gateway net.IP) (*netlink.Route, error) {
	_, destination, err := net.ParseCIDR(cidr)
	if err != nil {
		return nil, err
	}
	return &netlink.Route{Dst: destination, Gw: gateway}, nil
}
