"""``discreet attack``: a module for each attack."""

from discreet.cli._groups import command_group
from discreet.cli.attack.attributes import attributes
from discreet.cli.attack.inversion import inversion
from discreet.cli.attack.mask_inference import mask_inference
from discreet.cli.attack.membership import membership

attack = command_group(
    "Measure what an attacker still learns, against chance and without protection."
)
attack.command("mask-inference", short_help="Guess the original words of sanitised text.")(
    mask_inference
)
attack.command(short_help="Tell the training rows of a model from others.")(membership)
attack.command(short_help="Recover words from released vectors.")(inversion)
attack.command(short_help="Infer an attribute from released vectors.")(attributes)
