"""The tables of README, made from the registry: `make readme` writes them, a test compares."""

from __future__ import annotations

from sweep.catalog import default_registry
from sweep.views.tables import outputs_markdown, parameters_markdown
from tests.conftest import ROOT


def with_tables(text: str) -> str:
    """README with its tables as the registry has them now."""
    tables = {"parameters": parameters_markdown(default_registry()), "outputs": outputs_markdown(default_registry())}
    for name, table in tables.items():
        before, begin, rest = text.partition(f"<!-- {name}: made by `make readme` -->\n")
        _, end, after = rest.partition(f"<!-- end of {name} -->")
        assert begin, name
        assert end, name
        text = f"{before}{begin}{table}\n{end}{after}"
    return text


if __name__ == "__main__":
    readme = ROOT / "README.md"
    readme.write_text(with_tables(readme.read_text(encoding="utf-8")), encoding="utf-8")
