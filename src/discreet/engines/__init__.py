"""The release of a folder, part by part: on processes of this machine, on Ray or on Spark."""

from discreet.engines.release import release_folder, sanitize_folder
from discreet.engines.settings import ENGINES, EngineSettings

__all__ = ["ENGINES", "EngineSettings", "release_folder", "sanitize_folder"]
