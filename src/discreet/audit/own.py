"""A user's own mechanism, named as ``module:object``."""

import importlib
import os
import sys
from typing import Any

from discreet.errors import DiscreetError, InvalidValue, NotFound


def load_object(name: str) -> Any:
    """Import ``module:object``, looking in the current directory first.

    A class, or a function that is no mechanism itself, is called without arguments to make one.
    """
    module_name, colon, path = name.partition(":")
    if not (colon and module_name and path):
        raise InvalidValue(
            f"--python must be module:object, as in mymodule:mechanism; got {name!r}"
        )
    loaded = _imported(module_name)
    for part in path.split("."):
        if not hasattr(loaded, part):
            raise NotFound(f"{module_name} has no object {path}; check what stands after the colon")
        loaded = getattr(loaded, part)
    if isinstance(loaded, type) or (callable(loaded) and not hasattr(loaded, "release")):
        try:
            loaded = loaded()
        except DiscreetError:
            raise
        except (Exception, SystemExit) as error:
            raise InvalidValue(
                f"{name} could not be made without arguments: {type(error).__name__}: {error}"
            ) from error
    return loaded


def _imported(name: str) -> Any:
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    importlib.invalidate_caches()
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            hint = (
                "leave off the .py" if name.endswith(".py") else "check its name and the directory"
            )
            raise NotFound(
                f"there is no module {name} here or among the installed; {hint}"
            ) from None
        raise InvalidValue(f"importing {name} needs a module that is missing: {error}") from error
    except DiscreetError:
        raise
    except (Exception, SystemExit) as error:
        raise InvalidValue(f"importing {name} raised {type(error).__name__}: {error}") from error
