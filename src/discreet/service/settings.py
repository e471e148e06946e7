"""What can be chosen about the service itself: where it listens, its limits, its ledger."""

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from discreet.errors import InvalidValue
from discreet.settings import Setting, Settings


@dataclass(frozen=True, kw_only=True)
class ServiceSettings(Settings):
    """Where the service listens and what it lets a request take."""

    heading: ClassVar[str] = "Service"

    host: str = Setting("Address to listen on. Others than loopback need --keys.").default(
        "127.0.0.1"
    )
    port: int = Setting("Port to listen on; 0 takes a free one.", at_most=65535).default(8008)
    keys: Path | None = Setting(
        "File of API keys, hashed; 'discreet serve --new-key NAME' adds one."
    ).default(None)
    certificate: Path | None = Setting("TLS certificate chain, a PEM file.").default(None)
    certificate_key: Path | None = Setting("TLS private key, a PEM file.").default(None)
    allow_host: str | None = Setting(
        "Names that clients may call the service by, with commas between them, beside its "
        "address and localhost."
    ).default(None)
    cors_origin: str | None = Setting(
        "Web origins whose pages may call it, with commas between them; none unless told."
    ).default(None)
    max_request_mb: float = Setting("Refuse larger requests.", above=0).default(4.0)
    max_documents: int = Setting("Refuse more documents a request.", at_least=1).default(4096)
    rate: float | None = Setting(
        "Requests a second that a key may make; unlimited unless given.", above=0
    ).default(None)
    waiting: int = Setting(
        "Requests that may wait; more are told to come back.", at_least=1
    ).default(1024)
    timeout: float = Setting("Seconds that a request may take.", above=0).default(30.0)
    stop_timeout: int = Setting(
        "Seconds that running requests have when the service stops.", at_least=1
    ).default(30)
    time_grid_ms: float = Setting(
        "Answers to a single document leave at multiples of so many milliseconds after it "
        "came, so that the time tells less about its words; 0 for at once.",
        at_least=0,
    ).default(5.0)
    ledger: str | None = Setting(
        "Ledger that budgets are kept in: a file, or a URL of sqlite or postgresql."
    ).default(None)

    ledger_key: Path | None = Setting(
        "File with the ledger's secret key; beside a file's ledger unless given."
    ).default(None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.certificate is None) != (self.certificate_key is None):
            raise InvalidValue("--certificate and --certificate-key belong together; give both")
        if self.keys is None and not self.on_loopback:
            raise InvalidValue(
                "a service that others can reach needs --keys; make one with 'discreet serve "
                "--new-key NAME --keys FILE', or listen on 127.0.0.1"
            )

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def max_request_bytes(self) -> int:
        """The largest body."""
        return int(self.max_request_mb * 2**20)

    @property
    def hosts(self) -> frozenset[str] | None:
        """Names that a request may call the service by; None for any (others reach it by many)."""
        named = set(_listed(self.allow_host))
        if self.on_loopback or named:
            return frozenset({self.host, "localhost", "127.0.0.1", "[::1]", *named})
        return None

    @property
    def origins(self) -> frozenset[str]:
        """Web origins whose pages may call it."""
        return frozenset(_listed(self.cors_origin))


def _listed(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]
