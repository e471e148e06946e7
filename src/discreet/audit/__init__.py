"""Checks of a mechanism against its own statement: law, sampler, independence, black box."""

from discreet.audit.findings import Finding, Report, Verdict
from discreet.audit.run import audit

__all__ = ["Finding", "Report", "Verdict", "audit"]
