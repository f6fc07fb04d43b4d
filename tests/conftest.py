"""Hypothesis profiles, by HYPOTHESIS_PROFILE: `default` for every run, `ci` for more, `soak` for a round of a soak."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# Whole logs take long to draw and to run, and how long says nothing about the code that is tested.
SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)

settings.register_profile("default", deadline=None, max_examples=100, print_blob=True, suppress_health_check=SLOW)
settings.register_profile("ci", parent=settings.get_profile("default"), max_examples=400)
settings.register_profile("soak", parent=settings.get_profile("default"), max_examples=250)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
