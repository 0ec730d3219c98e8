"""`select(condition, a, b)` as one machine instruction: a branch there would keep a loop from being vectorised."""

from __future__ import annotations

from typing import Any

import numba


def _plain_select(condition: bool, a: float, b: float) -> float:
    return a if condition else b


def _compiled_select() -> Any:
    from numba.core import types
    from numba.extending import intrinsic

    @intrinsic
    def select(typing_context, condition, a, b):  # type: ignore[no-untyped-def]  # noqa: ARG001
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return builder.select(*arguments)

        kind = types.float64 if isinstance(a, types.Float) or isinstance(b, types.Float) else types.int64
        return kind(types.boolean, kind, kind), generate

    return select


select = _plain_select if numba.config.DISABLE_JIT else _compiled_select()
