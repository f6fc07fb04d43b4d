"""The log: NATS JetStream, the order in which ops happened, and where notifications wait for their clients."""
