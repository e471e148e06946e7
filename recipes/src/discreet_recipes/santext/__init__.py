"""Yue et al. (2021): SanText."""

from discreet_recipes.recipe import Recipe
from discreet_recipes.santext import sizes

RECIPE = Recipe(
    folder=__name__,
    name="santext",
    subject="SanText",
    title="SanText: utility, privacy and pretraining",
    paper="Yue et al. (2021), Differential Privacy for Text Analytics via Natural Text "
    "Sanitization.",
    data="sst2-{train,dev,test}, stsb-{train,test} and imdb-val; not quick: qnli-dev",
    fields="text and label, or text1, text2 and score",
    short_help="Words replaced by near ones, models on them, and attacks.",
    help="SanText, SanText+, CMP, random and unsanitised text: utility, privacy and pretraining.",
    note="Published and certified calibration side by side at the same guarantee.",
    the_paper_ran="The paper fine-tunes bert-base on sanitised SST-2, QNLI and MedSTS with GloVe "
    "or BERT token vectors of the words of each set, pretrains further on a sanitised Wikipedia, "
    "and attacks by masking each word in turn.",
    we_run="Here: SST-2, STS-B (the clinical pairs cannot be had) and, unless quick, a part of "
    "QNLI; a space of words and the token matrix of an encoder, neither chosen from the data; a "
    "bag of words for the sweep, the frozen encoder for pairs, the fine-tuned encoder for "
    "pretraining and, unless quick, for phrases and joint pairs; "
    "two attackers more, one who inverts the mechanism and one who does so with a language model. "
    "Training and test text are both sanitised. Every mechanism is run as published and, where "
    "that is another law, as certified at the same guarantee. Epsilons are per unit of distance in "
    "each space, so they compare with the paper's in GloVe only; the mechanisms at one epsilon do "
    "compare with each other. The order of the paper's Table 1 is also looked for in the first "
    "principal directions of the space: in few dimensions noise on vectors leaves more.",
    quick_minutes=10,
    quick=sizes.QUICK,
    standard=sizes.STANDARD,
    papers=sizes.PAPER,
    files=sizes.files,
    rows=sizes.rows,
    apart=sizes.apart,
)
