"""What is counted of webhooks, for Prometheus. Nothing here names a client, a webhook or where it leads."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

from nearcast.gateway.metrics import SECONDS, FeedMetrics

__all__ = ["HookMetrics"]

LONG = (*SECONDS, 10, 30, 60, 300, 1800, 3600)


class HookMetrics(FeedMetrics):
    """One registry a process."""

    def __init__(self) -> None:
        super().__init__("nearcast_webhook")
        registry = self.registry
        self.requests = Counter(
            "nearcast_webhook_requests",
            "Requests to endpoints, by what became of them.",
            ["outcome"],
            registry=registry,
        )
        self.request_seconds = Histogram(
            "nearcast_webhook_request_seconds",
            "From sending a request to its outcome.",
            ["outcome"],
            buckets=(*SECONDS, 10, 15, 30),
            registry=registry,
        )
        self.delivered = Counter("nearcast_webhook_delivered", "Events that endpoints took.", registry=registry)
        self.dead = Counter("nearcast_webhook_dead", "Events that became dead letters.", registry=registry)
        self.retried = Counter(
            "nearcast_webhook_retried", "Dead letters that were delivered after all.", registry=registry
        )
        self.delay = Histogram(
            "nearcast_webhook_delay_seconds",
            "From being told to being delivered, waiting and retries included.",
            buckets=LONG,
            registry=registry,
        )
        self.hooks = Gauge("nearcast_webhooks", "Webhooks, by how they are.", ["state"], registry=registry)
        self.lag = Gauge(
            "nearcast_webhook_lag_seconds",
            "How long the event has waited that waits longest, of webhooks that are not paused or held.",
            registry=registry,
        )
