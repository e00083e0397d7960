"""Who holds a GPU, by what this node itself was told: the kubelet, and files that a prolog wrote."""
