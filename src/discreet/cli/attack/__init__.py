"""``discreet attack``: a module for each attack."""

from discreet.cli._groups import command_group

_COMMANDS = {
    "mask-inference": "Guess the original words of sanitised text.",
    "membership": "Tell the training rows of a model from others.",
    "inversion": "Recover words from released vectors.",
    "attributes": "Infer an attribute from released vectors.",
}

attack = command_group(
    "Measure what an attacker still learns, against chance and without protection.",
    {
        name: ("discreet.cli.attack.{0}:{0}".format(name.replace("-", "_")), help)
        for name, help in _COMMANDS.items()
    },
)
