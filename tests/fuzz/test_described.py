"""Requests made from the OpenAPI description, and nearly so: all are answered as it says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy
from schemathesis.specs.openapi import checks

from tests.fuzz.house import CASES, House
from tests.seeds import FIRST_SEED

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc to look at processes"),
]

CHECKS = [
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
MODES = (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE)
ENDLESS = "/v1/events"
"""Its answer has no end, so it is tried beside the other streams."""


def test_answers_are_as_described(house: House) -> None:
    house.withstands("described", lambda: ask(house, 2, FIRST_SEED), lambda: ask(house, CASES, FIRST_SEED + 1))


def ask(house: House, cases: int, first: int) -> Counter[str]:
    """Every operation, as a client and as an operator, with what fits the description and with what does not."""
    came: Counter[str] = Counter()
    schema = schemathesis.openapi.from_url(f"{house.url}/v1/openapi.json")
    schema.config.generation.with_security_parameters = False  # who asks is said below
    every: list[Any] = list(schema.get_all_operations())
    operations = [found.ok() for found in every if found.ok().path != ENDLESS]
    assert len(operations) > 40
    open_to_choice = [operation for operation in operations if list(operation.iter_parameters()) or operation.body]
    share = -(-cases // (len(open_to_choice) * len(MODES) * 2))
    for operation in operations:
        for mode in MODES if operation in open_to_choice else MODES[:1]:
            for headers in (house.bearer("stranger-1"), house.boss):
                _try(operation.as_strategy(generation_mode=mode), headers, share, first, came)
    return came


def _try(strategy: SearchStrategy[Any], headers: dict[str, str], cases: int, first: int, came: Counter[str]) -> None:
    @seed(first)
    @settings(
        max_examples=cases,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=strategy)
    def check(case: Any) -> None:
        answer = case.call(headers=headers, timeout=30)
        came[str(answer.status_code)] += 1
        assert answer.status_code < 500 or (answer.status_code == 503 and "retry-after" in answer.headers), answer.text
        case.validate_response(answer, checks=CHECKS)

    check()
