"""``discreet serve``: sanitise text over HTTP, and stand in front of language models."""

from pathlib import Path
from typing import Annotated, Any

from discreet.cli import _options as options
from discreet.cli._choice import WordChoice
from discreet.cli._terminal import echo, progress_bar, say
from discreet.devices import prefer_device
from discreet.errors import InvalidValue, needs_extra
from discreet.release.settings import ReadableSettings
from discreet.service.keys import USUAL_SCOPES, add_key
from discreet.service.policy import DEFAULT, Policy
from discreet.service.settings import ServiceSettings
from discreet.settings import Setting, said


def serve(
    choice: WordChoice,
    shown: ReadableSettings,
    settings: ServiceSettings,
    policy: Annotated[
        Path | None,
        Setting("TOML file with the settings of the service, of each profile, and of the gateway."),
    ] = None,
    upstream: Annotated[
        str | None,
        Setting("URL of an OpenAI-compatible API to stand in front of, without a policy file."),
    ] = None,
    new_key: Annotated[
        str | None, Setting("Add a key of this name to --keys, print it, and stop.")
    ] = None,
    scopes: Annotated[
        str,
        Setting(
            "Of the new key, with commas between them. Only if they are named: metrics, which "
            "counts what all keys send, and persons, with which its budget is for each person "
            "whom it names."
        ),
    ] = ",".join(USUAL_SCOPES),
    profile: Annotated[str | None, Setting("Of the policy, for the new key alone.")] = None,
    budget: Annotated[
        float | None,
        Setting(
            "Epsilon that the requests of the new key may cost together, each as much as its "
            "longest document."
        ),
    ] = None,
    device: options.Device = "auto",
) -> None:
    """Sanitise text over HTTP, and stand as a gateway in front of language models.

    Listens on this machine alone unless --host says otherwise, which needs --keys. What is said on
    the command line counts more than the policy file. Logs go to standard error, a JSON object a
    line, without a byte of text. /docs lists the routes.

    Example: discreet serve --epsilon 12 --readable

    With --upstream (or a policy with a gateway) an OpenAI client that is pointed here sends
    sanitised messages to the provider, and gets answers with the right names in them.

    Example: discreet serve --epsilon 12 --readable --upstream https://api.openai.com/v1
    """
    prefer_device(device)
    if new_key is not None:
        if settings.keys is None:
            raise InvalidValue("--new-key needs --keys, the file that it is added to")
        secret = add_key(settings.keys, new_key, scopes.split(","), profile, budget)
        say(f"Added {new_key} to {settings.keys}. This is its key; it is shown once:")
        echo(secret)
        return
    with needs_extra("discreet serve", "serve"):
        from discreet.service.run import serve as run
        from discreet.service.service import Service
    told = _policy(choice, shown, settings, policy, upstream)
    with progress_bar("reading and certifying spaces") as show:
        service = Service(told, progress=show)
    for name, releaser in service.releasers.items():
        say(f"Profile {name}: {releaser.profile.mechanism}", *releaser.statement.lines())
    if not told.service.on_loopback and told.service.certificate is None:
        say(
            "Caveat: others can reach this without TLS; give --certificate, or put a proxy in "
            "front."
        )
    run(service, lambda address: say(f"Listening on {address}; stop with Ctrl-C."))
    say("Stopped; every request that had begun was answered.")


def _policy(
    choice: WordChoice,
    shown: ReadableSettings,
    settings: ServiceSettings,
    path: Path | None,
    upstream: str | None,
) -> Policy:
    """The policy file with what the command line says over it, or a policy from that alone."""
    given = {name: getattr(settings, name) for name in said(settings)}
    if path is not None:
        if upstream is not None or shown.readable or not choice.is_empty:
            raise InvalidValue(
                "--policy says which mechanism and upstream there are; leave out the other options"
            )
        return Policy.read(path, **given)
    if choice.needs_epsilon():
        raise InvalidValue(
            f"{choice.name} needs --epsilon, such as 'discreet serve --epsilon 12 --readable'; "
            "'discreet explain --epsilon 12' says what that means"
        )
    profile: dict[str, Any] = {k: v for k, v in choice.to_json().items() if v is not None}
    profile["readable"] = shown.readable
    values: dict[str, Any] = {"profiles": {DEFAULT: profile}}
    if upstream is not None:
        values["gateway"] = {"upstream": upstream}
    return Policy.from_dict(values, **given)
