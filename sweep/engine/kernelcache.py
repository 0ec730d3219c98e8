"""Compiled kernels on disk: one file per kernel text, named by the digest of everything that it depends on.

The folder is $SWEEP_CACHE_DIR, else $XDG_CACHE_HOME/sweep, else ~/.cache/sweep. numba keeps its machine code beside
each file and checks the processor itself. Damaged machine code would crash the process or give wrong numbers, so it is
kept under a seal, a file of digests, and loaded only if that still holds. Where the folder cannot be written, kernels
are compiled in memory.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import linecache
import os
import sys
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from types import ModuleType

import sweep
from sweep.engine.news import Announce

INTERLEAVE = 2


def cache_folder() -> Path:
    """Where kernels are kept. Raises OSError for a user who has no home."""
    own = os.environ.get("SWEEP_CACHE_DIR")
    if own:
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "sweep"
    except RuntimeError as error:
        raise OSError(str(error)) from None


def digest(text: str) -> str:
    """Short name of a kernel text."""
    return hashlib.sha256(text.encode()).hexdigest()[:24]


@functools.lru_cache(maxsize=8)
def kernel_name(text: str) -> str:
    """The name of a kernel's module and file: it changes with all that the machine code depends on."""
    versions = [sweep.__version__, *map(metadata.version, ("numba", "llvmlite")), sys.version_info[:3], INTERLEAVE]
    helpers = (Path(__file__).parent / "branchless.py").read_text(encoding="utf-8")
    return f"sweep_kernel_{digest(f'{versions} {helpers} {text}')}"


def is_compiled(text: str) -> bool:
    """Whether the cache has machine code of a kernel text, and it is whole."""
    try:
        path = _kernel_path(kernel_name(text))
        digests = _digests(path)
        return bool(digests) and _seal_path(path).read_text(encoding="utf-8") == digests
    except (OSError, ValueError):
        return False


def load_kernel(text: str, announce: Announce) -> ModuleType:
    """The module of a kernel text, from the cache where it is there. `announce` is told what takes time."""
    name = kernel_name(text)
    if name in sys.modules:
        return sys.modules[name]
    try:
        path = _store(name, text)
    except OSError as error:
        announce(f"kernels cannot be kept ({error}); compiling in memory, this run only")
        return _load_in_memory(name, text)
    if not is_compiled(text):
        _forget(path)
        announce("compiling the grid's kernel, once; later runs take it from the cache")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # before it runs: numba finds a cached function's module here
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


@contextlib.contextmanager
def wide_vectors() -> Iterator[None]:
    """While kernels compile, let LLVM work on two vectors of numbers at once.

    Left alone it takes one, and a nest then spends its time on latencies: measured on the ring all-reduce, 0.49 to
    0.55 instead of 0.55 to 0.66 of the speed of filling memory. Results do not depend on it.
    """
    from llvmlite import binding

    binding.set_option("sweep", f"-force-vector-interleave={INTERLEAVE}")
    try:
        yield
    finally:
        binding.set_option("sweep", "-force-vector-interleave=0")


def _store(name: str, text: str) -> Path:
    """Write the file if it is not there. An existing file keeps its time stamp, which numba's cache relies on."""
    path = _kernel_path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return path
    _write(path, text)
    return path


def seal_kernel(module: ModuleType) -> None:
    """Seal what numba keeps of a kernel, after it has compiled something; unsealed, it is not loaded again."""
    path = Path(str(module.__file__))
    with contextlib.suppress(OSError):  # no room for the seal: compiled again next time
        if digests := _digests(path):
            _write(_seal_path(path), digests)


def forget_kernel(module: ModuleType) -> None:
    """Remove what numba keeps of a kernel, because it cannot be loaded."""
    _forget(Path(str(module.__file__)))


def _kernel_path(name: str) -> Path:
    return cache_folder() / "kernels" / f"{name}.py"


def _seal_path(path: Path) -> Path:
    return path.with_suffix(".seal")


def _machine_code(path: Path) -> list[Path]:
    """Numba's files of a kernel: an index per function, and data per processor."""
    return sorted(path.parent.glob(f"__pycache__/{path.stem}.*.nb[ci]"))


def _digests(path: Path) -> str:
    return "".join(f"{hashlib.sha256(kept.read_bytes()).hexdigest()} {kept.name}\n" for kept in _machine_code(path))


def _forget(path: Path) -> None:
    for kept in [_seal_path(path), *_machine_code(path)]:
        kept.unlink(missing_ok=True)


def _write(path: Path, text: str) -> None:
    """Put a file in place whole."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(temporary, path)


def _load_in_memory(name: str, text: str) -> ModuleType:
    module = ModuleType(name)
    text = text.replace(", cache=True", "")
    module.__file__ = f"<{name}>"
    sys.modules[name] = module
    linecache.cache[module.__file__] = (len(text), None, text.splitlines(keepends=True), module.__file__)
    exec(compile(text, module.__file__, "exec"), module.__dict__)  # our own text, generated a moment ago
    return module
