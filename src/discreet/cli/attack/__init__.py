"""``discreet attack``: a module for each attack."""

from discreet.cli._groups import command_group, commands_in

_COMMANDS = {
    "mask-inference": "Guess the original words of sanitised text.",
    "membership": "Tell the training rows of a model from others.",
    "inversion": "Recover words from released vectors.",
    "attributes": "Infer an attribute from released vectors.",
}

attack = command_group(
    "Measure what an attacker still learns, against chance and without protection.",
    commands_in(__name__, _COMMANDS),
)
