"""What starts a batch's rows: this host by itself, hosts of a Ray cluster; and jobs printed for Kubernetes."""
