"""Names as columns: every text gets a small code, and the columns say what a compiled loop needs to know of it.

A notification's id mixes the 128-bit hash of each name, and notifications are ordered by names. Both are columns
here, so that no loop touches text; Arrow sees the texts without a copy.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from sortedcontainers import SortedList

from nearcast.match.columns import grown
from nearcast.model.notification import word_pair

__all__ = ["Names", "encoded", "word_rows"]

NAME = 300
"""Bytes that a name takes beside its text, about."""
_LEAST, _GREATEST = -(2**62), 2**62
"""Between these lie the places in the order; a new name takes the middle between its neighbours."""


class Names:
    """Texts and their codes: 0, 1, 2, ... in the order of their arrival. A code is for ever."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._texts: list[str] = []
        self._sorted: SortedList[str] = SortedList()
        self.words = np.zeros((16, 2), np.uint64)
        """The two 64-bit words that stand for the name in a notification's id."""
        self.order = np.zeros(16, np.int64)
        """Compares as the texts do, code point by code point."""
        self._pool = np.zeros(256, np.uint8)
        self._ends = np.zeros(17, np.int32)

    def __len__(self) -> int:
        return len(self._texts)

    @property
    def size(self) -> int:
        """Bytes, about."""
        return int(self._ends[len(self)]) + NAME * len(self)

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def text(self, code: int) -> str:
        return self._texts[code]

    def find(self, text: str) -> int:
        """The code of a text; -1 if it has none."""
        return self._codes.get(text, -1)

    def code(self, text: str) -> int:
        """The code of a text, made if it is new."""
        found = self._codes.get(text)
        if found is not None:
            return found
        code = self._append(text)
        at = self._sorted.bisect_left(text)
        below = int(self.order[self._codes[self._sorted[at - 1]]]) if at else _LEAST
        above = int(self.order[self._codes[self._sorted[at]]]) if at < len(self._sorted) else _GREATEST
        self._sorted.add(text)
        if above - below > 1:
            self.order[code] = below + (above - below) // 2
        else:
            self._relabel()
        return code

    def codes(self, texts: Sequence[str]) -> npt.NDArray[np.int64]:
        """The codes of many texts at once."""
        try:
            return np.fromiter(map(self._codes.__getitem__, texts), np.int64, len(texts))
        except KeyError:
            self._add([text for text in dict.fromkeys(texts) if text not in self._codes])
        return self.codes(texts)

    def codes_of(self, texts: pa.StringArray | pa.ChunkedArray) -> npt.NDArray[np.int64]:
        """The same for a column without nulls. Where it has much of what is known, Arrow finds them faster."""
        if 4 * len(texts) < len(self):
            return self.codes(texts.to_pylist())
        found = pc.index_in(texts, value_set=self.array)
        if found.null_count:
            self.codes(texts.filter(found.is_null()).unique().to_pylist())
            found = pc.index_in(texts, value_set=self.array)
        return np.asarray(found, np.int64)

    @property
    def array(self) -> pa.StringArray:
        """All texts, by code; a view that holds until the next new name."""
        n = len(self)
        return pa.StringArray.from_buffers(n, pa.py_buffer(self._ends), pa.py_buffer(self._pool))

    @property
    def nbytes(self) -> int:
        """The columns, and the texts with the dictionary and the lists that find them."""
        columns = sum(array.nbytes for array in (self.words, self.order, self._pool, self._ends))
        return columns + sum(map(sys.getsizeof, self._texts)) + sys.getsizeof(self._codes) + 16 * len(self._texts)

    def _add(self, new: Sequence[str]) -> None:
        """Codes for new texts; it takes many to make it worthwhile to order all anew."""
        if len(new) <= 64:
            for text in new:
                self.code(text)
            return
        first, data = len(self._texts), [encoded(text) for text in new]
        ends = int(self._ends[first]) + np.cumsum([len(part) for part in data])
        size = first + len(new)
        self.words, self.order = grown(self.words, size), grown(self.order, size)
        self._pool, self._ends = grown(self._pool, int(ends[-1])), grown(self._ends, size + 1)
        self._pool[int(self._ends[first]) : int(ends[-1])] = np.frombuffer(b"".join(data), np.uint8)
        self._ends[first + 1 : size + 1], self.words[first:size] = ends, word_rows(new)
        self._codes.update(zip(new, range(first, size), strict=True))
        self._texts += new
        self._sorted.update(new)
        self._relabel()

    def _append(self, text: str) -> int:
        code = len(self._texts)
        self._codes[text] = code
        self._texts.append(text)
        data = encoded(text)
        start, end = int(self._ends[code]), int(self._ends[code]) + len(data)
        self.words, self.order = grown(self.words, code + 1), grown(self.order, code + 1)
        self._pool, self._ends = grown(self._pool, end), grown(self._ends, code + 2)
        self._pool[start:end] = np.frombuffer(data, np.uint8)
        self._ends[code + 1] = end
        self.words[code] = word_pair(text)
        return code

    def _relabel(self) -> None:
        """Spread all names evenly, so that there is room between any two again."""
        n = len(self._texts)
        ordered = np.fromiter((self._codes[text] for text in self._sorted), np.int64, n)
        gap = (_GREATEST - _LEAST) // (n + 1)
        self.order[ordered] = _LEAST + gap * np.arange(1, n + 1, dtype=np.int64)


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def word_rows(texts: Iterable[str]) -> npt.NDArray[np.uint64]:
    """The words of many names that need no code."""
    return np.array([word_pair(text) for text in texts], np.uint64).reshape(-1, 2)
