"""What is compared, by which measures, and how much is tried."""

from dataclasses import dataclass, replace

from discreet import check
from discreet.errors import InvalidValue
from discreet.evaluation.comparison.task import QUICK, Effort
from discreet.settings import Setting, Settings

_BEGIN = 8.0
MEASURES = ("accuracy", "macro-F1", "similarity")


@dataclass(frozen=True, kw_only=True)
class ComparisonSettings(Settings):
    """Mechanisms, the scale they are put on, and the effort."""

    mechanisms: str | None = Setting(
        "What to compare, with commas between. Settings follow a colon each: "
        "near-words:guide=ngram:near=2, santext:calibration=published:epsilon=10/12. Common "
        "ones in useful settings unless given."
    ).default(None)
    epsilons: str | None = Setting(
        "For mechanisms without epsilons of their own, as in 6,8,10."
    ).default(None)
    at: str | None = Setting(
        "Turn it round, as in attacker=0.3: find for each mechanism the epsilon at which the "
        "best attacker names this share of words, and compare there."
    ).default(None)
    space: str | None = Setting(
        "Public vocabulary that words come from, for all mechanisms; each has that of "
        "'sanitize' unless given.",
        short="-s",
    ).default(None)
    function_words: bool = Setting(
        "Let English function words and marks pass unchanged, for every mechanism, as "
        "'sanitize --readable' does; attackers are judged by the other words."
    ).default(False)
    measure: str = Setting(
        "What decides: accuracy, macro-F1 or similarity. Without labels it is similarity.",
        choices=MEASURES,
    ).default("accuracy")
    encoder: bool = Setting(
        "Read texts with the sentence encoder too, where it is installed."
    ).default(True)
    language_model: bool = Setting("Judge fluency by SmolLM2 too, where it is installed.").default(
        True
    )
    peers: bool = Setting(
        "Compare other packages too (mldp-text, dp-diffractor, dpmlm): each is INSTALLED into "
        "an environment of its own in the cache, and runs without a network."
    ).default(False)
    vectors: bool = Setting(
        "Try vectors of sentences and of documents as well; needs the encoder."
    ).default(False)
    quick: bool = Setting("Fewer texts and words: a few minutes.").default(False)
    texts: int | None = Setting("Texts of INPUT to use, drawn at random.", at_least=1).default(None)
    folds: int | None = Setting(
        "Parts of the texts; each is tested by what learnt from others.", at_least=2
    ).default(None)
    seeds: int | None = Setting("Releases of each setting.", at_least=1).default(None)
    seed: int = Setting("Chooses texts, folds and noise.", at_least=0).default(0)
    workers: int | None = Setting(
        "Processes that measure at the same time; as many as there are cores, up to 4, unless "
        "given. Each needs about 1 GB of memory.",
        at_least=1,
    ).default(None)

    @property
    def effort(self) -> Effort:
        """How much is tried."""
        given = {name: getattr(self, name) for name in ("texts", "folds", "seeds", "seed")}
        effort = QUICK if self.quick else Effort()
        return replace(effort, **{name: each for name, each in given.items() if each is not None})

    @property
    def names(self) -> list[str] | None:
        """What to compare, each as it was written; None for the common ones."""
        return None if self.mechanisms is None else self.mechanisms.split(",")

    @property
    def numbers(self) -> list[float]:
        """The epsilons; if they are to be found, where the search begins."""
        if self.epsilons is None:
            return [_BEGIN] if self.at is not None and self.mechanisms is not None else []
        numbers = check.numbers(self.epsilons, "--epsilons")
        return [check.positive(number, "--epsilons") for number in numbers]

    @property
    def share(self) -> float | None:
        """Of words that the best attacker is to name, if it is turned round."""
        if self.at is None:
            return None
        name, _, value = self.at.partition("=")
        try:
            share = float(value)
        except ValueError:
            share = -1.0
        if name != "attacker" or not 0 < share < 1:
            raise InvalidValue(
                "--at must be attacker=SHARE with a share between 0 and 1, as in 0.3"
            )
        return share

    @property
    def judges(self) -> tuple[str, ...]:
        """The language models that judge fluency."""
        return ("ngram", "smollm2") if self.language_model else ("ngram",)
