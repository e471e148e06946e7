"""An audit of user and entity training by its settings, and what it found."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.arrays import Progress
from discreet.audit.canaries import CanaryAudit
from discreet.audit.training import audit_training
from discreet.errors import VerificationFailed
from discreet.randomness import SEEDED_CAVEAT
from discreet.training.user_entity.audit_settings import TrainingAuditSettings
from discreet.wording import counted


@dataclass(frozen=True)
class TrainingAudit:
    """What canaries showed of a training, by what was protected."""

    settings: TrainingAuditSettings
    findings: Mapping[str, CanaryAudit]

    @classmethod
    def of(
        cls, settings: TrainingAuditSettings, progress: Progress | None = None
    ) -> "TrainingAudit":
        """Play the games; ``progress`` is called with (done, total)."""
        findings = audit_training(
            settings.rules(),
            steps=settings.chosen("steps"),
            canaries=settings.chosen("canaries"),
            runs=settings.chosen("runs"),
            confidence=settings.confidence,
            seed=settings.seed,
            progress=progress,
        )
        return cls(settings, findings)

    @property
    def broken(self) -> list[str]:
        """For what a claim is contradicted."""
        return [name for name, one in self.findings.items() if one.broken]

    def require(self) -> None:
        """Raise an error if a claim is contradicted."""
        if self.broken:
            raise VerificationFailed(
                f"{self.settings.algorithm} training does not keep its claim; contradicted for: "
                f"{', '.join(self.broken)}"
            )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        settings, steps = self.settings, self.settings.chosen("steps")
        statement = settings.rules().statement(steps)
        if settings.seed is not None:
            statement = statement.with_caveats(SEEDED_CAVEAT)
        return {
            "algorithm": settings.algorithm,
            "steps": steps,
            "passed": not self.broken,
            "seed": settings.seed,
            "statement": statement.to_dict(),
            "findings": {name: one.to_dict() for name, one in self.findings.items()},
        }

    def lines(self) -> list[str]:
        """In plain words."""
        settings, steps = self.settings, self.settings.chosen("steps")
        return [
            f"Audit of {settings.algorithm} training, {counted(steps, 'step')}, "
            f"delta {settings.delta:.3g}",
            *(
                f"  {'FAIL' if one.broken else 'PASS'}  {name:<22}  epsilon {one.claimed:.4g} "
                f"claimed, at least {one.lower:.4g} shown ({one.correct} of "
                f"{one.guesses} guesses right, "
                f"{one.canaries} canaries, {counted(one.runs, 'run')}; p-value {one.p_value:.2g})"
                for name, one in self.findings.items()
            ),
            f"Each bound holds with confidence {settings.confidence:.3g}. A bound below the claim "
            "proves nothing; true claims are contradicted at most once in 1,000 audits.",
        ]
