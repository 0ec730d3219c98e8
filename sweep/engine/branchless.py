"""`select(condition, a, b)` as one machine instruction: a branch there would keep a loop from being vectorised."""

from __future__ import annotations

from typing import Any

from numba import config


def _plain_select(condition: bool, a: float, b: float) -> float:
    return a if condition else b


def _compiled_select() -> Any:
    from numba.core import types
    from numba.extending import intrinsic

    def select(typing_context: Any, condition: Any, a: Any, b: Any) -> Any:
        kind = types.float64 if types.float64 in (a, b) else types.int64

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.select(*arguments)

        return kind(types.boolean, kind, kind), generate

    return intrinsic(select)


JIT = not config.DISABLE_JIT  # type: ignore[attr-defined]  # numba sets its options when it is imported

select = _compiled_select() if JIT else _plain_select
