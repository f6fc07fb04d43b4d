"""What the gateway counts, for Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

__all__ = ["SECONDS", "FeedMetrics", "Metrics"]

SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)


class FeedMetrics:
    """What is counted of those who listen. One registry each, so that two in one process do not count as one."""

    def __init__(self, prefix: str = "nearcast") -> None:
        self.registry = registry = CollectorRegistry()
        self.connected = Gauge(f"{prefix}_connected", "Sockets that listen for events.", registry=registry)
        self.sent = Counter(f"{prefix}_events_sent", "Events handed to sockets.", registry=registry)
        self.behind = Counter(
            f"{prefix}_fell_behind",
            "Times a socket was too slow and went back to the stream on disk.",
            registry=registry,
        )
        self.merged = Counter(f"{prefix}_readings_merged", "Readings left out for later ones.", registry=registry)
        self.gaps = Counter(f"{prefix}_gaps", "Times a client had missed what is no longer there.", registry=registry)

    def text(self) -> bytes:
        return generate_latest(self.registry)


class Metrics(FeedMetrics):
    """What a gateway counts."""

    def __init__(self) -> None:
        super().__init__()
        registry = self.registry
        self.requests = Counter("nearcast_requests", "Requests answered.", ["door", "status"], registry=registry)
        self.request_seconds = Histogram(
            "nearcast_request_seconds", "From a request to its answer.", ["door"], buckets=SECONDS, registry=registry
        )
        self.ops = Counter("nearcast_ops", "Ops appended to the log.", registry=registry)
        self.packets = Counter("nearcast_packets", "Packets appended to the log.", registry=registry)
        self.refused = Counter("nearcast_refused", "Positions and readings that were refused.", registry=registry)
        self.append_seconds = Histogram(
            "nearcast_append_seconds",
            "From sending a packet to its acknowledgement.",
            buckets=SECONDS,
            registry=registry,
        )
        self.waiting = Gauge("nearcast_waiting_bytes", "Ops that wait for the log.", registry=registry)
