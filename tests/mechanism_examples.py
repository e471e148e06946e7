"""The ready objects that every mechanism's own test module offers."""

import importlib.util
from pathlib import Path

from discreet.mechanisms.registry import MechanismEntry

HERE = Path(__file__).parent


def examples(entry: MechanismEntry) -> dict:
    """Of a mechanism: functions without arguments, by name; empty if its module has none."""
    module = entry.name.replace("-", "_")
    path = HERE / "mechanisms" / entry.family / f"test_{module}.py"
    spec = importlib.util.spec_from_file_location(f"examples_{module}", path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return getattr(loaded, "EXAMPLES", {})
