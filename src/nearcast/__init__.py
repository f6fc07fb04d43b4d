"""Location-aware publish/subscribe."""
