"""Writes the table of grants into docs/permissions.md."""

from __future__ import annotations

import re
from pathlib import Path

from nearcast.gateway.grants import permissions_table

__all__ = ["PAGE", "with_table"]

PAGE = Path(__file__).parents[1] / "docs" / "permissions.md"
_TABLE = re.compile(r"(?<=<!-- the table of gateway/grants.py -->\n).*(?=<!-- its end -->)", re.DOTALL)


def with_table(text: str) -> str:
    """The page with the table as it is now."""
    return _TABLE.sub(lambda _: permissions_table() + "\n", text)


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
